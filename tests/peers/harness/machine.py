"""What the figures were taken on, and how busy others kept it meanwhile."""

import os
import platform
import time

FLAGS = ("avx2", "fma", "avx512f", "avx512_vnni", "avx_vnni", "amx_int8", "asimddp", "i8mm")


def describe():
    """CPU, its vector instructions, cores, system."""
    fields = {}
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            key, _, value = line.partition(":")
            fields.setdefault(key.strip().lower(), value.strip())
    flags = set((fields.get("flags") or fields.get("features") or "").split())
    return {
        "cpu": fields.get("model name", platform.machine()),
        "family_model_stepping": "/".join(fields.get(k, "?") for k in ("cpu family", "model", "stepping")),
        "vector": [flag for flag in FLAGS if flag in flags],
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release().split('-')[0]} {platform.machine()}",
        "python": platform.python_version(),
    }


class Load:
    """CPU time spent on the machine by others than our processes, in cores."""

    def __init__(self):
        self.wall, self.machine, self.own = time.monotonic(), machine_cpu_s(), own_cpu_s()
        self.before = os.getloadavg()[0]

    def report(self):
        """Since the start; peers count as ours once they have ended."""
        wall = time.monotonic() - self.wall
        busy, stolen = (now - then for now, then in zip(machine_cpu_s(), self.machine))
        return {
            "load_before": round(self.before, 2),
            "load_after": round(os.getloadavg()[0], 2),
            "others_cores": round(max(0.0, busy - (own_cpu_s() - self.own)) / wall, 3),
            "stolen_cores": round(stolen / wall, 3),
            "seconds": round(wall, 1),
        }


def machine_cpu_s():
    """Busy seconds of all cores since boot, and those taken by the hypervisor."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, stat.readline().split()[1:9])
    tick = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / tick, steal / tick


def own_cpu_s():
    """This program and its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
