"""A program that Conan's CMake files find the library for."""

import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class TestConan(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            data = os.path.join(self.source_folder, "..", "data")
            program = os.path.join(self.cpp.build.bindir, "embed_stored")
            out = os.path.join(self.build_folder, "vectors.f32")
            model, texts = os.path.join(data, "small_bert.weights"), os.path.join(data, "small_texts.txt")
            self.run(f'"{program}" "{model}" "{texts}" "{out}" 16 auto 0', env="conanrun")
            assert os.path.getsize(out) == 3 * 32 * 4
