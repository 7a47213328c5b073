"""A process that opens files, and what becomes of it."""

import collections
import os
import pathlib
import resource
import select
import signal
import subprocess
import time

# What a process may have: of the address space in all, and for one small file of memory, of the CPU's time, and of time if
# it does nothing at all.
ADDRESS_SPACE = 4 << 30
MEMORY = 256 << 20
CPU_SECONDS = 5
SECONDS = 60

Verdict = collections.namedtuple("Verdict", "kind message")


class Reader:
    """Reads files one after the other, in another process when one has ended."""

    def __init__(self, command, cwd, limited=True):
        self.command, self.cwd, self.limited, self.process = command, cwd, limited, None

    def open(self, path):
        """What becomes of a file: accepted, error, panic, crash, hang or memory."""
        if self.process is None:
            self.start()
        before, cpu = self.peak(reset=True), self.cpu_seconds()
        try:
            self.process.stdin.write(f"{path}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            return self.ended()
        until = time.monotonic() + SECONDS
        while True:
            ready, _, _ = select.select([self.process.stdout], [], [], 0.05)
            if ready:
                break
            if self.peak() - before > MEMORY:
                return self.stop(Verdict("memory", f"more than {MEMORY >> 20} MB"))
            if self.cpu_seconds() - cpu > CPU_SECONDS or time.monotonic() > until:
                return self.stop(Verdict("hang", f"no answer after {CPU_SECONDS} s of the CPU's time"))
        kind, _, message = self.process.stdout.readline().decode(errors="replace").rstrip("\n").partition(" ")
        if not kind:
            return self.ended()
        used = self.peak() - before
        return Verdict("memory", f"{used >> 20} MB, then {kind}") if used > MEMORY else Verdict(kind, message)

    def start(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if self.limited:
                resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))

        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(self.command, cwd=self.cwd, preexec_fn=limit, **streams)

    def peak(self, reset=False):
        """The most memory that the process has had since the last reset, in bytes."""
        of_process = pathlib.Path(f"/proc/{self.process.pid}")
        try:
            if reset:
                (of_process / "clear_refs").write_text("5")
            lines = (of_process / "status").read_text().splitlines()
        except OSError:
            return 0
        return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:")), 0)

    def cpu_seconds(self):
        """How long the process has computed."""
        try:
            fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, verdict):
        self.process.kill()
        self.process.wait()
        self.process = None
        return verdict

    def ended(self):
        status = self.process.wait()
        self.process = None
        if status == 101:
            return Verdict("panic", "Rust's exit status 101")
        return Verdict("crash", signal.Signals(-status).name if status < 0 else f"exit status {status}")

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
