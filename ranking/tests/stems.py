"""Writes stems.txt: words, and their stems by PyStemmer 3.1 (Snowball). usage: stems.py TEXT…  (needs PyStemmer)

Words of the texts, those that are not among the words below, whose rules are special.
"""
import re, sys
import Stemmer

SPECIAL = """skis skies dying lying tying vying idly gently ugly early only singly sky news howe atlas cosmos bias andes
past paste pasted later lateral interest internal organ organic organization emerge emergency university universal generate
generally communism communist arsenal inning innings outing canning herring earring evening evenings proceed proceeding exceed
exceedingly succeed agreed feed indeed hopping hoping egged adding added odd ebbing ties cries ied ies gas this kiwis us gaps
bled bring bringing using fizzed luxuriated analogous apologist geologist apology happily rationally relational sensational
conditional valency hesitancy digitizer conformably radically differently vilely vietnamization predication operator feudalism
decisiveness hopefulness callousness formality sensitivity sensibility triplicate formative formalize electricity electrical
goodness revival allowance inference airliner adjustable defensible irritant replacement adjustment dependent adoption
communicate angularity homologous effective bowdlerize probate rate cease controlling rolled say by syzygy cry enjoyed
yes youth boyish flying eyed keyed""".split()
words = sorted({w for f in sys.argv[1:] for w in re.findall(r'\b[a-z]{3,}\b', open(f, encoding='utf-8').read().lower())})
stem = Stemmer.Stemmer('english').stemWord
with open('stems.txt', 'w', encoding='utf-8', newline='\n') as out:
    for word in SPECIAL + [w for w in words if w not in SPECIAL]:
        out.write(f'{word} {stem(word)}\n')
