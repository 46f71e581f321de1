//===- PmapOpBase.td - What all ops of the pmap dialect share -----------------------------------------------*- td -*-===//
#ifndef PMAP_OP_BASE_TD
#define PMAP_OP_BASE_TD

include "compiler/Dialect/IR/PmapTypes.td"
include "compiler/Dialect/IR/PmapInterfaces.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Pmap_Op<string mnemonic, list<Trait> traits = []> : Op<Pmap_Dialect, mnemonic, traits> {
  let hasVerifier = 1;
}

// An op of its operands and of the sizes in its types alone, which may be executed wherever those sizes are known.
class Pmap_PureOp<string mnemonic, list<Trait> traits = []>
    : Pmap_Op<mnemonic, !listconcat([NoMemoryEffect, DeclareOpInterfaceMethods<ConditionallySpeculatable>], traits)> {
  let extraClassDefinition = [{
    ::mlir::Speculation::Speculatability $cppClass::getSpeculatability() {
      return ::pmap::speculatabilityWhereSizesAreKnown(*this);
    }
  }];
}

// An op that checks its input at run time: it may be merged or dropped but not executed where it was not.
class Pmap_CheckedOp<string mnemonic, list<Trait> traits = []> : Pmap_Op<mnemonic, !listconcat([NoMemoryEffect], traits)>;

// The communication between devices, the symbols bound while a program runs, and what a user sees of a run.
def Pmap_CommResource : Resource<"::pmap::CommResource">;
def Pmap_SymbolResource : Resource<"::pmap::SymbolResource">;
def Pmap_HostResource : Resource<"::pmap::HostResource">;

// An op that every device along its axes must reach together.
class Pmap_CollectiveOp<string mnemonic, list<Trait> traits = []> : Pmap_Op<mnemonic, !listconcat([
    MemoryEffects<[MemRead<Pmap_CommResource>, MemWrite<Pmap_CommResource>]>,
    DeclareOpInterfaceMethods<CollectiveOp>], traits)>;

// Every op with a reverse derivative has a forward one, and a rule for rows, in the file of its theme.
def Differentiable : DeclareOpInterfaceMethods<DifferentiableOp, ["pushforward"]>;
def Batchable : DeclareOpInterfaceMethods<BatchableOp>;

#endif
