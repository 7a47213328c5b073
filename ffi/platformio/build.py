"""Builds the library for a PlatformIO project, or takes one that is built. Options of the project's environment:

custom_nanoembed_parts   parts of the library, see ffi/Cargo.toml; usually embd,static-models,small
custom_nanoembed_target  Rust's name of the processor, for those that are not known here
custom_nanoembed_prefix  where a library for this processor is installed (ffi/install.sh --prefix): nothing is built
"""

import os
import subprocess
import sys

Import("env")  # noqa: F821

# Rust's names of processors, without and with a floating-point unit that passes arguments.
TARGETS = {
    "cortex-m0": ("thumbv6m-none-eabi",) * 2,
    "cortex-m0plus": ("thumbv6m-none-eabi",) * 2,
    "cortex-m3": ("thumbv7m-none-eabi",) * 2,
    "cortex-m4": ("thumbv7em-none-eabi", "thumbv7em-none-eabihf"),
    "cortex-m7": ("thumbv7em-none-eabi", "thumbv7em-none-eabihf"),
    "cortex-m23": ("thumbv8m.base-none-eabi",) * 2,
    "cortex-m33": ("thumbv8m.main-none-eabi", "thumbv8m.main-none-eabihf"),
}


def option(name):
    return env.GetProjectOption("custom_nanoembed_" + name, "")  # noqa: F821


def target():
    """Rust's name of the board's processor; "" for the machine that builds, where there is no board."""
    if option("target") or "BOARD" not in env:  # noqa: F821
        return option("target")
    cpu = env.BoardConfig().get("build.cpu", "")  # noqa: F821
    if cpu not in TARGETS:
        sys.exit(f"nanoembed: set custom_nanoembed_target for the processor {cpu or 'of this board'}")
    flags = env.Flatten([env.get("CCFLAGS", []), env.get("LINKFLAGS", [])])  # noqa: F821
    return TARGETS[cpu]["-mfloat-abi=hard" in flags]


def build():
    """Installs the library for the processor in the build folder, and says where. Cargo knows what has changed."""
    environment = dict(os.environ)
    environment.setdefault("CARGO_TARGET_DIR", env.subst("$BUILD_DIR/cargo"))  # noqa: F821
    prefix = env.subst("$BUILD_DIR/nanoembed")  # noqa: F821
    command = ["ffi/install.sh", "--prefix", prefix, "--parts", option("parts") or "embd,static-models,small"]
    triple = target()
    if triple:
        command += ["--no-std", "--target", triple]
    subprocess.check_call(command, cwd=os.path.join("..", ".."), env=environment)
    return prefix


prefix = os.path.join(env.subst("$PROJECT_DIR"), option("prefix")) if option("prefix") else build()  # noqa: F821
library = os.path.join(prefix, "lib", "libnanoembed.a")
# What the library needs of the system stands in its pkg-config file.
with open(os.path.join(prefix, "lib", "pkgconfig", "nanoembed.pc")) as package:
    words = next(line for line in package if line.startswith("Libs:")).split()
system = [word[2:] for word in words if word.startswith("-l")]
env.Append(LIBS=[env.File(library), *system])  # noqa: F821
