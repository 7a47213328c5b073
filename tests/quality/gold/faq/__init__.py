"""Questions that people asked, with the answers in FAQs: those of Perl, Python, Git and Debian.

| set | question | passages |
|---|---|---|
| `english` | English | answers, and the other sections of the same manuals |
| `long` | English | whole chapters without headings: how well long texts are cut |
| `mono` | in one of nine languages | answers in the same language, each language by itself |
| `cross` | in one of eight languages | those of `english` |
"""
