#include "support/temp_tree.hpp"

#include <doctor/root.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <string>

namespace rdmagpu::doctor {
namespace {

TEST(Root, ReadsNothingButRegularFiles) {
  const test::TempTree tree;
  tree.write("/file", "text");
  tree.link("/loop", "loop");
  tree.link("/zero", "/dev/zero");
  ASSERT_EQ(mkfifo((tree.root() + "/fifo").c_str(), 0600), 0);
  const Root root(tree.root() + "/");
  EXPECT_EQ(root.read("/file"), "text");
  for(const char* other : {"/loop", "/zero", "/fifo", "/", "/absent"})
    EXPECT_EQ(root.read(other), std::nullopt) << other;
}

TEST(Root, CutsWhatIsTooLong) {
  const test::TempTree tree;
  tree.write("/file", std::string(100000, 'x'));
  EXPECT_EQ(Root{tree.root()}.read("/file", 5000)->size(), 5000U);
}

TEST(Root, ReadsNumbers) {
  const test::TempTree tree;
  tree.write("/decimal", "-1\n");
  tree.write("/hexadecimal", "0x10de\n");
  tree.write("/none", "none\n");
  const Root root(tree.root());
  EXPECT_EQ(root.number("/decimal"), -1);
  EXPECT_EQ(root.number("/hexadecimal"), 0x10de);
  EXPECT_EQ(root.number("/none"), std::nullopt);
}

TEST(Root, ReadsLinksThatLeadNowhere) {
  const test::TempTree tree;
  tree.link("/link", "../../a/b");
  const Root root(tree.root());
  EXPECT_EQ(root.linkName("/link"), "b");
  EXPECT_TRUE(root.has("/link"));
  EXPECT_EQ(root.linkName("/absent"), "");
}

} // namespace
} // namespace rdmagpu::doctor
