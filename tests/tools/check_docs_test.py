import tree

import check_docs


class CheckDocs(tree.TreeTest):
    def setUp(self):
        super().setUp()
        self.write("test", "case $1 in --all) ;; esac")
        self.write("cli/main.cpp", 'add_subcommand("stream", "..."); option("--playout");')
        self.write("include/rdmagpu/slot_ring.hpp", "class SlotRing { void tryAcquire(); };\n#define RDMAGPU_API\n")
        self.write("docs/design.md", "# Design\n\n## The two words\n")

    def faults_of(self, text):
        self.write("README.md", text)
        return list(check_docs.faults(self.root))

    def assert_fine(self, text):
        self.assertEqual(self.faults_of(text), [])

    def assert_fault(self, text, fault):
        self.assertEqual(self.faults_of(text), [f"README.md: {fault}"])

    def test_links(self):
        self.assert_fine("[a](docs/design.md) [b](docs/design.md#the-two-words) [c](https://example.org/x)")
        self.assert_fault("[a](docs/none.md)", "link to docs/none.md: no such file")
        self.assert_fault("[a](docs/design.md#three)", "link to docs/design.md#three: no such heading")

    def test_paths(self):
        self.assert_fine("`include/rdmagpu/` `include/*/slot_ring.hpp` `include/<name>/slot_ring.hpp` `slot_ring.hpp` `/proc/self`")
        self.assert_fault("`include/rdmagpu/none.hpp`", "no such path: include/rdmagpu/none.hpp")
        self.assert_fault("`none.hpp`", "no such file: none.hpp")

    def test_commands(self):
        self.assert_fine("`rdmagpu stream --playout` `./test --all` `cmake --anything` `ls -l`")
        self.assert_fault("`rdmagpu fly`", "no such command: rdmagpu fly")
        self.assert_fault("`rdmagpu stream --fly`", "no such option: --fly of rdmagpu")
        self.assert_fault("`./fly --all`", "no such program: ./fly")
        self.assert_fault("`--fly`", "no such option: --fly")

    def test_commands_in_code_blocks(self):
        self.assert_fine("```\n$ ffmpeg --x -i clip - | rdmagpu stream - --playout  # --note\n```")
        self.assert_fault("```\nffmpeg -i clip - | rdmagpu stream - --fly\n```", "no such option: --fly of rdmagpu")

    def test_identifiers(self):
        self.assert_fine("`SlotRing` `SlotRing::tryAcquire()` `RDMAGPU_API` `std::expected` `word`")
        self.assert_fault("`SlotWheel`", "no such identifier: SlotWheel")
        self.assert_fault("`SlotRing::fly`", "no such identifier: SlotRing::fly")
        self.assert_fault("`fly()`", "no such identifier: fly()")
        self.assert_fault("`RDMAGPU_FLY`", "no such identifier: RDMAGPU_FLY")


if __name__ == "__main__":
    tree.unittest.main()
