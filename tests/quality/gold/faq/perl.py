"""Perl's FAQ and manual, of the package `perl-doc`."""

import re

from .. import packages
from ..markup import pod
from .section import Section

LICENCE = "perlfaq: Artistic or GPL-1+ (code in it: public domain)"
MANUAL = (
    "perlop perlsub perldata perlref perlre perlopentut perlipc perlstyle perlmod perlobj perlvar perlunifaq perlsec "
    "perlport perlform perltrap perldebug perldsc perllol"
).split()


def package():
    """The package."""
    return packages.debian("perl-doc")


def sections():
    """Questions of perlfaq, then sections of the manual."""
    folder = package().folder
    for file in sorted(folder.glob("usr/share/perl/*/pod/perlfaq[1-9].pod")):
        for part in re.split(r"(?m)^=head2 ", file.read_text(encoding="latin-1"))[1:]:
            title, _, body = part.partition("\n")
            yield Section("perl", file.stem, pod(title), pod(re.split(r"(?m)^=head1", body)[0]))
    for chapter in MANUAL:
        for file in folder.glob(f"usr/share/perl/*/pod/{chapter}.pod"):
            for part in re.split(r"(?m)^=head[123] ", file.read_text(encoding="utf-8", errors="replace"))[1:]:
                title, _, body = part.partition("\n")
                yield Section("perl", chapter, pod(title).rstrip("?"), pod(body))
