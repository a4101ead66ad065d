#include "capi_support.hpp"
#include "support/temp_tree.hpp"

#include <gmock/gmock.h>

#include <string>

namespace rdmagpu::capitest {
namespace {

using testing::StrEq;

constexpr const char* bridge = "pci0000:00";
constexpr const char* gpuAddress = "0000:01:00.0";

/// A GPU whose driver lets no peer at its memory.
void addGpu(const test::TempTree& tree) {
  const std::string gpu = std::string("/sys/devices/") + bridge + "/" + gpuAddress;
  tree.write(gpu + "/vendor", "0x10de\n");
  tree.write(gpu + "/device", "0x1db5\n");
  tree.write(gpu + "/class", "0x030200\n");
  tree.link(gpu + "/driver", "../../../bus/pci/drivers/nouveau");
  tree.link(std::string("/sys/bus/pci/devices/") + gpuAddress,
            std::string("../../../devices/") + bridge + "/" + gpuAddress);
}

Owned<rdmagpu_diagnosis> diagnose(const std::string& root) {
  rdmagpu_doctor_options options = RDMAGPU_INIT(rdmagpu_doctor_options);
  options.root = root.c_str();
  rdmagpu_diagnosis* made = nullptr;
  rdmagpu_error error = RDMAGPU_INIT(rdmagpu_error);
  EXPECT_EQ(rdmagpu_diagnose(&options, &made, &error), RDMAGPU_OK) << messageOf(error);
  return Owned<rdmagpu_diagnosis>{made};
}

rdmagpu_diagnosis_facts factsOf(const Owned<rdmagpu_diagnosis>& diagnosis) {
  rdmagpu_diagnosis_facts facts = RDMAGPU_INIT(rdmagpu_diagnosis_facts);
  EXPECT_EQ(rdmagpu_diagnosis_facts_of(diagnosis.get(), &facts, nullptr), RDMAGPU_OK);
  return facts;
}

TEST(CapiDoctor, AFindingSaysWhatIsWrong) {
  const test::TempTree tree;
  const auto diagnosis = diagnose(tree.root());
  const auto facts = factsOf(diagnosis);
  EXPECT_EQ(facts.verdict, RDMAGPU_VERDICT_BLOCKED);
  ASSERT_EQ(facts.finding_count, 1U);
  rdmagpu_finding finding = RDMAGPU_INIT(rdmagpu_finding);
  ASSERT_TRUE(rdmagpu_diagnosis_finding(diagnosis.get(), 0, &finding));
  EXPECT_STREQ(finding.id, "no-gpu");
  EXPECT_EQ(finding.severity, RDMAGPU_SEVERITY_BLOCKER);
  EXPECT_STRNE(finding.title, "");
  EXPECT_STRNE(finding.fix, "");
  EXPECT_STREQ(finding.device, "");
  EXPECT_FALSE(rdmagpu_diagnosis_finding(diagnosis.get(), 1, &finding));
}

TEST(CapiDoctor, APairSaysWhy) {
  const test::TempTree tree;
  addGpu(tree);
  const auto diagnosis = diagnose(tree.root());
  const auto facts = factsOf(diagnosis);
  ASSERT_EQ(facts.pair_count, 3U);
  rdmagpu_pair_verdict pair = RDMAGPU_INIT(rdmagpu_pair_verdict);
  ASSERT_TRUE(rdmagpu_diagnosis_pair(diagnosis.get(), 0, &pair));
  EXPECT_STREQ(pair.gpu, gpuAddress);
  EXPECT_STREQ(pair.peer, "");
  EXPECT_EQ(pair.route, RDMAGPU_ROUTE_DMA_BUF);
  EXPECT_EQ(pair.verdict, RDMAGPU_VERDICT_BLOCKED);
  ASSERT_GE(pair.because_count, 1U);
  EXPECT_STREQ(pair.because[0], "nouveau");
  EXPECT_FALSE(rdmagpu_diagnosis_pair(diagnosis.get(), 3, &pair));
}

TEST(CapiDoctor, ADeviceSaysWhereItIs) {
  const test::TempTree tree;
  addGpu(tree);
  const auto diagnosis = diagnose(tree.root());
  ASSERT_GE(factsOf(diagnosis).device_count, 1U);
  rdmagpu_machine_device device = RDMAGPU_INIT(rdmagpu_machine_device);
  ASSERT_TRUE(rdmagpu_diagnosis_device(diagnosis.get(), 0, &device));
  EXPECT_EQ(device.role, RDMAGPU_ROLE_GPU);
  EXPECT_STREQ(device.id, gpuAddress);
  EXPECT_STREQ(device.driver, "nouveau");
  EXPECT_EQ(device.has_bar, 0U);
  EXPECT_EQ(device.numa_node, -1);
  ASSERT_EQ(device.path_count, 2U);
  EXPECT_STREQ(rdmagpu_diagnosis_path(diagnosis.get(), 0, 0), bridge);
  EXPECT_STREQ(rdmagpu_diagnosis_path(diagnosis.get(), 0, 1), gpuAddress);
  EXPECT_EQ(rdmagpu_diagnosis_path(diagnosis.get(), 0, 2), nullptr);
  EXPECT_EQ(rdmagpu_diagnosis_path(diagnosis.get(), 99, 0), nullptr);
}

TEST(CapiDoctor, WhatIsNotThereIsRefused) {
  const test::TempTree tree;
  rdmagpu_doctor_options options = RDMAGPU_INIT(rdmagpu_doctor_options);
  options.root = tree.root().c_str();
  rdmagpu_diagnosis* none = nullptr;
  const auto refused = [&] {
    const auto error = failureOf([&](rdmagpu_error* e) { return rdmagpu_diagnose(&options, &none, e); });
    EXPECT_EQ(none, nullptr);
    return std::string(error.code_name);
  };
  options.gpu = "65:00.0";
  EXPECT_EQ(refused(), "NoSuchGpu");
  options.gpu = nullptr;
  options.peer = "mlx5_0";
  EXPECT_EQ(refused(), "NoSuchPeer");
  options.peer = nullptr;
  options.reserved = 1;
  EXPECT_THAT(failureOf([&](rdmagpu_error* e) { return rdmagpu_diagnose(&options, &none, e); }).call,
              StrEq("rdmagpu_doctor_options::reserved"));
  options.reserved = 0;
  options.struct_size = 4;
  EXPECT_EQ(refused(), "StructSize");
  EXPECT_EQ(rdmagpu_diagnose(nullptr, nullptr, nullptr), RDMAGPU_INVALID_ARGUMENT);
}

TEST(CapiDoctor, ThisMachineIsTheDefault) {
  rdmagpu_diagnosis* made = nullptr;
  EXPECT_EQ(rdmagpu_diagnose(nullptr, &made, nullptr), RDMAGPU_OK);
  rdmagpu_diagnosis_destroy(made);
}

TEST(CapiDoctor, NullHasNothingToTell) {
  rdmagpu_diagnosis_facts facts = RDMAGPU_INIT(rdmagpu_diagnosis_facts);
  EXPECT_EQ(rdmagpu_diagnosis_facts_of(nullptr, &facts, nullptr), RDMAGPU_INVALID_ARGUMENT);
  rdmagpu_finding finding = RDMAGPU_INIT(rdmagpu_finding);
  rdmagpu_pair_verdict pair = RDMAGPU_INIT(rdmagpu_pair_verdict);
  rdmagpu_machine_device device = RDMAGPU_INIT(rdmagpu_machine_device);
  rdmagpu_explanation explanation = RDMAGPU_INIT(rdmagpu_explanation);
  EXPECT_FALSE(rdmagpu_diagnosis_finding(nullptr, 0, &finding));
  EXPECT_FALSE(rdmagpu_diagnosis_pair(nullptr, 0, &pair));
  EXPECT_FALSE(rdmagpu_diagnosis_device(nullptr, 0, &device));
  EXPECT_FALSE(rdmagpu_explanations_get(nullptr, 0, &explanation));
  EXPECT_EQ(rdmagpu_diagnosis_path(nullptr, 0, 0), nullptr);
  EXPECT_EQ(rdmagpu_diagnosis_root_would_add(nullptr, 0), nullptr);
  EXPECT_EQ(rdmagpu_explanations_count(nullptr), 0U);
  rdmagpu_diagnosis_destroy(nullptr);
  rdmagpu_explanations_destroy(nullptr);
  const test::TempTree tree;
  EXPECT_FALSE(rdmagpu_diagnosis_finding(diagnose(tree.root()).get(), 0, nullptr));
}

TEST(CapiDoctor, KindsOfFindingsAreListed) {
  ASSERT_GT(rdmagpu_finding_kind_count(), 10U);
  for(size_t i = 0; i < rdmagpu_finding_kind_count(); ++i) {
    rdmagpu_finding_kind kind = RDMAGPU_INIT(rdmagpu_finding_kind);
    ASSERT_TRUE(rdmagpu_finding_kind_get(i, &kind));
    EXPECT_STRNE(kind.id, "");
    EXPECT_NE(rdmagpu_severity_name(kind.severity), nullptr) << kind.id;
  }
  rdmagpu_finding_kind none = RDMAGPU_INIT(rdmagpu_finding_kind);
  EXPECT_FALSE(rdmagpu_finding_kind_get(rdmagpu_finding_kind_count(), &none));
}

TEST(CapiDoctor, AnErrorIsExplained) {
  rdmagpu_explanations* made = nullptr;
  ASSERT_EQ(rdmagpu_explain("ibv_reg_mr 14", &made, nullptr), RDMAGPU_OK);
  const Owned<rdmagpu_explanations> explanations{made};
  ASSERT_GE(rdmagpu_explanations_count(made), 1U);
  rdmagpu_explanation first = RDMAGPU_INIT(rdmagpu_explanation);
  ASSERT_TRUE(rdmagpu_explanations_get(made, 0, &first));
  EXPECT_STREQ(first.matched, "ibv_reg_mr EFAULT");
  ASSERT_GE(first.cause_count, 1U);
  EXPECT_STRNE(first.causes[0], "");
  EXPECT_FALSE(rdmagpu_explanations_get(made, rdmagpu_explanations_count(made), &first));
  EXPECT_STREQ(failureOf([&](rdmagpu_error* e) { return rdmagpu_explain(nullptr, &made, e); }).code_name,
               "PointerNull");
}

TEST(CapiDoctor, NumbersHaveNames) {
  EXPECT_STREQ(rdmagpu_severity_name(RDMAGPU_SEVERITY_NOTE), "note");
  EXPECT_STREQ(rdmagpu_verdict_name(RDMAGPU_VERDICT_WRITE_ONLY), "write-only");
  EXPECT_STREQ(rdmagpu_route_name(RDMAGPU_ROUTE_DMA_BUF), "dma-buf");
  EXPECT_STREQ(rdmagpu_distance_name(RDMAGPU_DISTANCE_ACROSS_SOCKETS), "across-sockets");
  EXPECT_STREQ(rdmagpu_machine_role_name(RDMAGPU_ROLE_GPU), "gpu");
  for(const auto name : {rdmagpu_severity_name, rdmagpu_verdict_name, rdmagpu_route_name,
                         rdmagpu_distance_name, rdmagpu_machine_role_name}) {
    EXPECT_EQ(name(-1), nullptr);
    EXPECT_EQ(name(99), nullptr);
  }
}

} // namespace
} // namespace rdmagpu::capitest
