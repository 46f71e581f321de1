//===- PmapOps.td - The ops of the pmap dialect, by theme ---------------------------------------------------*- td -*-===//
#ifndef PMAP_OPS_TD
#define PMAP_OPS_TD

include "compiler/Dialect/IR/PmapArrayOps.td"
include "compiler/Dialect/IR/PmapIndexingOps.td"
include "compiler/Dialect/IR/PmapSizeOps.td"
include "compiler/Dialect/IR/PmapRegionOps.td"
include "compiler/Dialect/IR/PmapTransformOps.td"
include "compiler/Dialect/IR/PmapParallelOps.td"
include "compiler/Dialect/IR/PmapCollectiveOps.td"

#endif
