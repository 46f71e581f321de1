// The check of the compiler's PTX against its table of instructions.

#include "compiler/Lower/Cuda/Ptx.h"

#include <gtest/gtest.h>

namespace {

std::string kernel(const std::string &body) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n"
         "\t.reg .b32 %r<3>;\n" +
         body + "\tret;\n}\n";
}

TEST(PtxText, KnownInstructionsPass) {
  EXPECT_EQ(pmap::unknownPtxInstruction(kernel("\tld.param.b64 \t%rd1, [k_param_0];\n$L1:\n\t@%p1 bra \t$L1;\n"
                                               "\t@!%p1 bra \t$L1;\n\tshfl.sync.bfly.b32 \t%r1, %r2, 1, 31, -1;\n")),
            "");
}

TEST(PtxText, AnUnknownInstructionIsNamedWithItsLine) {
  EXPECT_EQ(pmap::unknownPtxInstruction(kernel("\twgmma.fence.sync.aligned;\n")),
            "wgmma.fence.sync.aligned (wgmma.fence.sync.aligned;)");
}

TEST(PtxText, AnUnknownFormOfAKnownInstructionIsUnknown) {
  EXPECT_EQ(pmap::unknownPtxInstruction(kernel("\t@%p1 ld.volatile.b32 \t%r1, [%rd1];\n")),
            "ld.volatile.b32 (@%p1 ld.volatile.b32 \t%r1, [%rd1];)");
}

TEST(PtxText, CommentsDeclarationsAndArgumentsOfCallsAreNoInstructions) {
  EXPECT_EQ(pmap::unknownPtxInstruction(
                "// wgmma.fence;\n.visible .global .align 8 .b8 pmap_failure[40];\n" +
                kernel("\t{ // callseq 0, 0\n\t.param .b64 param0;\n\tst.param.b64 \t[param0], %rd1;\n"
                       "\tcall.uni \n\tpmap_fail, \n\t(\n\tparam0\n\t);\n\t} // callseq 0\n")),
            "");
}

} // namespace
