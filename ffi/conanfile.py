"""The C and C++ library by Conan 2: `conan create ffi`. It is built by cargo from this source tree."""

import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.files import copy, load, rm, rmdir

# Rust's names of processors that programs for Linux are built for.
TARGETS = {
    "x86_64": "x86_64-unknown-linux-gnu",
    "armv8": "aarch64-unknown-linux-gnu",
    "riscv64": "riscv64gc-unknown-linux-gnu",
}


class NanoembedConan(ConanFile):
    name = "nanoembed"
    description = "Sentence embeddings and word vectors from files where they lie"
    license = "MIT OR Apache-2.0"
    url = homepage = "https://github.com/nanoembed/nanoembed"
    topics = ("embeddings", "semantic-search", "word-vectors", "bert", "gguf")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "no_std": [True, False], "parts": ["ANY"], "target": [None, "ANY"]}
    default_options = {"shared": False, "no_std": False, "parts": "all", "target": None}
    option_descriptions = {
        "no_std": "without standard library and heap, for firmware",
        "parts": "parts of the library, see Cargo.toml, separated by commas",
        "target": "Rust's name of the processor, where it is not that of the settings",
    }
    test_package_folder = os.path.join("tests", "conan")

    def _root(self):
        return os.path.dirname(self.recipe_folder)

    def set_version(self):
        lines = load(self, os.path.join(self._root(), "Cargo.toml")).splitlines()
        self.version = next(line.split('"')[1] for line in lines if line.startswith("version = "))

    def export_sources(self):
        root, into = self._root(), self.export_sources_folder
        for name in ("Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "LICENSE-MIT", "LICENSE-APACHE"):
            copy(self, name, root, into)
        for name in ("install.sh", "README.md"):
            copy(self, name, os.path.join(root, "ffi"), os.path.join(into, "ffi"))
        # All members of the workspace have to be there, also those that are not built.
        members = {"core": (), "nanoembed": (), "ranking": (), "search": (), "serve": (), "cli": (), "tests": ("benches",), "tests/host": (), "wasm": ()}
        members["ffi"] = ("cmake", "include", "benches")
        for member, others in members.items():
            for name in ("Cargo.toml", "README.md", "build.rs"):
                copy(self, name, os.path.join(root, member), os.path.join(into, member))
            for folder in ("src", *others):
                copy(self, "*", os.path.join(root, member, folder), os.path.join(into, member, folder))

    def configure(self):
        # C: which C++ the program is written in does not matter.
        self.settings.rm_safe("compiler.cppstd")
        self.settings.rm_safe("compiler.libcxx")
        if self.options.no_std:
            self.options.rm_safe("shared")
            self.package_type = "static-library"

    def package_id(self):
        # Cargo builds one kind, for every compiler of C.
        del self.info.settings.compiler
        del self.info.settings.build_type

    def validate(self):
        if not self.options.target and (self.settings.os != "Linux" or str(self.settings.arch) not in TARGETS):
            raise ConanInvalidConfiguration("set the option target to Rust's name of the processor")

    def package(self):
        target = str(self.options.target or TARGETS[str(self.settings.arch)])
        words = [os.path.join(self.source_folder, "ffi", "install.sh"), "--prefix", self.package_folder]
        words += ["--parts", str(self.options.parts)]
        if self.options.no_std:
            words.append("--no-std")
        if self.options.target or self.settings_build.arch != self.settings.arch:
            words += ["--target", target]
        self.run(" ".join(f'"{word}"' for word in words))
        for name in ("LICENSE-MIT", "LICENSE-APACHE"):
            copy(self, name, self.source_folder, os.path.join(self.package_folder, "licenses"))
        library = os.path.join(self.package_folder, "lib")
        # Conan writes these for what it is asked for.
        rmdir(self, os.path.join(library, "cmake"))
        rmdir(self, os.path.join(library, "pkgconfig"))
        rm(self, "libnanoembed.a" if self.options.get_safe("shared") else "libnanoembed.so*", library)

    def package_info(self):
        self.cpp_info.libs = ["nanoembed"]
        if not self.options.no_std and not self.options.get_safe("shared"):
            self.cpp_info.system_libs = ["util", "rt", "pthread", "m", "dl"]
