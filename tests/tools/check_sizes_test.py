import tree

import check_sizes


class CheckSizes(tree.TreeTest):
    def test_a_file_at_the_limit_passes(self):
        self.write("src/core/a.cpp", "\n" * check_sizes.LIMIT)
        self.assertEqual(list(check_sizes.faults(self.root)), [])

    def test_a_file_over_the_limit_is_named_with_its_length(self):
        self.write("cli/a.cpp", "\n" * (check_sizes.LIMIT + 1))
        (fault,) = check_sizes.faults(self.root)
        self.assertTrue(fault.startswith(f"cli/a.cpp: {check_sizes.LIMIT + 1} lines"), fault)


if __name__ == "__main__":
    tree.unittest.main()
