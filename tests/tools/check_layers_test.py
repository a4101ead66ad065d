import tree

import check_layers


class CheckLayers(tree.TreeTest):
    def setUp(self):
        super().setUp()
        for room in ("base", "os", "driver", "backend", "core", "net", "doctor", "capi"):
            self.write(f"src/{room}/{room}.hpp", "#pragma once\n")
        self.write("include/rdmagpu/error.hpp", "#pragma once\n#include <cstdint>\n")

    def faults_of(self, path, include):
        self.write(path, f"#pragma once\n{include}\n")
        return list(check_layers.faults(self.root))

    def test_a_room_may_use_those_below_and_the_public_headers(self):
        for include in ("<base/base.hpp>", "<backend/backend.hpp>", "<rdmagpu/error.hpp>", "<vector>", "<core/core.hpp>"):
            self.assertEqual(self.faults_of("src/core/a.cpp", f"#include {include}"), [])

    def test_a_room_may_not_use_one_above(self):
        for room, above in (("base", "os"), ("os", "driver"), ("driver", "backend"), ("backend", "core"), ("core", "net"), ("core", "doctor")):
            with self.subTest(room=room):
                found = self.faults_of(f"src/{room}/a.cpp", f"#include <{above}/{above}.hpp>")
                self.assertEqual(found, [f"src/{room}/a.cpp:2: #include <{above}/{above}.hpp>: src/{room} may not use src/{above}"])
                (self.root / f"src/{room}/a.cpp").unlink()

    def test_a_relative_include_does_not_hide_the_arrow(self):
        self.assertEqual(len(self.faults_of("src/base/a.cpp", '#include "../core/core.hpp"')), 1)

    def test_the_doctor_gets_the_net_as_callbacks_only(self):
        self.assertEqual(self.faults_of("src/doctor/a.cpp", "#include <core/core.hpp>"), [])
        self.assertEqual(len(self.faults_of("src/doctor/a.cpp", "#include <net/net.hpp>")), 1)

    def test_the_program_uses_public_headers_only(self):
        self.write("cli/frames/y4m.hpp")
        for include in ("<rdmagpu/error.hpp>", "<frames/y4m.hpp>", "<CLI/CLI.hpp>", "<fmt/format.h>", "<unistd.h>"):
            self.assertEqual(self.faults_of("cli/a.cpp", f"#include {include}"), [])
        self.assertEqual(len(self.faults_of("cli/a.cpp", "#include <base/base.hpp>")), 1)

    def test_benchmarks_may_use_the_driver_room_and_no_other(self):
        self.assertEqual(self.faults_of("bench/a.cpp", "#include <driver/driver.hpp>"), [])
        self.assertEqual(len(self.faults_of("bench/a.cpp", "#include <core/core.hpp>")), 1)

    def test_a_public_header_includes_neither_private_nor_system_nor_vendor_headers(self):
        for include in ("<base/base.hpp>", "<unistd.h>", "<windows.h>", "<vulkan/vulkan.h>", "<cuda.h>", "<fmt/format.h>"):
            with self.subTest(include=include):
                self.assertEqual(len(self.faults_of("include/rdmagpu/a.hpp", f"#include {include}")), 1)

    def test_interop_and_peers_may_include_a_vendors_header(self):
        self.assertEqual(self.faults_of("include/rdmagpu/interop/cuda.hpp", "#include <cuda.h>"), [])
        self.assertEqual(self.faults_of("include/rdmagpu/peers/aja.hpp", "#include <ajabase/system/system.h>"), [])

    def test_system_headers_belong_to_the_os_room(self):
        self.assertEqual(self.faults_of("src/os/a.cpp", "#include <sys/mman.h>"), [])
        self.assertEqual(len(self.faults_of("src/core/a.cpp", "#include <sys/mman.h>")), 1)

    def test_closed_vendor_headers_belong_to_the_abi_tests(self):
        self.assertEqual(self.faults_of("tests/abi/cuda_test.cpp", "#include <cuda.h>"), [])
        self.assertEqual(len(self.faults_of("src/driver/cuda.cpp", "#include <cuda.h>")), 1)

    def test_open_vendor_headers_may_be_used_in_private_code(self):
        self.assertEqual(self.faults_of("src/backend/a.cpp", "#include <vulkan/vulkan.h>"), [])

    def test_an_unknown_header_is_a_fault(self):
        self.assertEqual(len(self.faults_of("src/core/a.cpp", "#  include <somebody/else.h>")), 1)


if __name__ == "__main__":
    tree.unittest.main()
