"""Prints the values of bm25.rs: BM25 as Lucene computes it, in f64, over terms that are given here. usage: bm25.py > bm25.rs"""
import math

K, B = 1.2, 0.75
PASSAGES = [
    'the cat sat on the mat', 'the dog chase the cat and the other cat', 'a bird',
    'pars header parse_header read a header']
QUERIES = {'cats': 'cat', 'a dog and cats': 'dog cat', 'parse_header': 'pars header parse_header', 'headers headers': 'header header', 'fish': 'fish'}
passages = [p.split() for p in PASSAGES]
mean = sum(map(len, passages)) / len(passages)


def score(query, passage):
    total = 0
    for term in query:
        d = sum(term in p for p in passages)
        n = passage.count(term)
        total += math.log(1 + (len(passages) - d + 0.5) / (d + 0.5)) * n / (n + K * (1 - B + B * len(passage) / mean))
    return total


print('const EXPECTED: [(&str, [f32; 4]); %d] = [' % len(QUERIES))
for text, terms in QUERIES.items():
    print(f'    ("{text}", [{", ".join(f"{score(terms.split(), p):.7}" if score(terms.split(), p) else "0.0" for p in passages)}]),')
print('];')
