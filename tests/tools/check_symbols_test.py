import os
import subprocess

import tree

import check_symbols


class CheckSymbols(tree.TreeTest):
    def faults_of(self, source):
        self.write("a.cpp", source)
        library = str(self.root / "a.so")
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-shared", "-fPIC", "-fvisibility=hidden", "-o", library,
                        str(self.root / "a.cpp")], check=True)
        return list(check_symbols.faults(library))

    def test_the_librarys_own_names_pass(self):
        exported = '__attribute__((visibility("default")))'
        source = f"""
            namespace rdmagpu {{
            {exported} int version() {{ return 1; }}
            class {exported} Peer {{ public: virtual ~Peer(); }};
            Peer::~Peer() {{}}
            }}
            extern "C" {exported} void rdmagpu_buffer_destroy(void*) {{}}
        """
        self.assertEqual(self.faults_of(source), [])

    def test_a_name_of_another_namespace_is_a_fault(self):
        source = 'namespace other { __attribute__((visibility("default"))) int f() { return 1; } }'
        self.assertEqual(self.faults_of(source), ["exported, but neither in namespace rdmagpu nor rdmagpu_*: other::f()"])

    def test_an_instantiation_of_the_standard_library_is_a_fault(self):
        source = "#include <vector>\ntemplate class std::vector<long double>;"
        found = self.faults_of(source)
        self.assertTrue(any("std::vector<long double" in fault for fault in found), found)

    def test_a_c_name_without_the_prefix_is_a_fault(self):
        source = 'extern "C" __attribute__((visibility("default"))) void destroy() {}'
        self.assertEqual(self.faults_of(source), ["exported, but neither in namespace rdmagpu nor rdmagpu_*: destroy"])

    def test_a_mutable_global_is_a_fault_wherever_it_hides(self):
        for kind in ("static int calls", "static int calls = 1", "static thread_local int calls", "static thread_local int calls = 2"):
            with self.subTest(kind=kind):
                source = f'namespace rdmagpu {{ {kind}; __attribute__((visibility("default"))) int f() {{ return ++calls; }} }}'
                self.assertEqual(
                    self.faults_of(source), ["a global that can be written, not listed in tools/check_symbols.py: rdmagpu::calls"])

    def test_a_constant_table_with_pointers_is_no_mutable_global(self):
        source = """
            namespace rdmagpu {
            static const char* const rows[] = {"a", "b"};
            __attribute__((visibility("default"))) const char* f(int i) { return rows[i]; }
            }
        """
        self.assertEqual(self.faults_of(source), [])


if __name__ == "__main__":
    tree.unittest.main()
