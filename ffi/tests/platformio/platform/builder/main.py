"""Builds a program by the compiler `custom_compiler`, or the host's."""

from SCons.Script import Default, DefaultEnvironment

env = DefaultEnvironment()
flags = {name: env.get(name, []) for name in ("CCFLAGS", "CFLAGS", "LINKFLAGS")}
env.Tool("gcc")
env.Tool("g++")
env.Append(**flags)
if "BOARD" in env:
    processor = env.BoardConfig().get("build.flags").split()
    env.Append(CCFLAGS=processor, LINKFLAGS=processor)
compiler = env.GetProjectOption("custom_compiler", "gcc")
env.Replace(CC=compiler, LINK=compiler)
Default(env.BuildProgram())
