"""python3 -m unittest discover -s tests/quality"""

import math
import unittest

from harness.correlation import ranks, spearman
from harness.metrics import Mean, ndcg, recall, reciprocal_rank


class Metrics(unittest.TestCase):
    def test_the_first_of_one(self):
        for metric in (ndcg, recall, reciprocal_rank):
            self.assertEqual(metric(["a", "b"], {"a"}), 1)

    def test_the_third_of_one(self):
        ranking = ["x", "y", "a"]
        self.assertEqual(ndcg(ranking, {"a"}), 0.5)  # 1 / log2(4)
        self.assertEqual(recall(ranking, {"a"}), 1)
        self.assertEqual(reciprocal_rank(ranking, {"a"}), 1 / 3)

    def test_two_of_three(self):
        ranking = ["x", "a", "y", "b"]
        # 1/log2(3) + 1/log2(5), of 1 + 1/log2(3) + 1/2
        self.assertAlmostEqual(ndcg(ranking, {"a", "b", "c"}), (0.63093 + 0.43068) / 2.13093, places=5)
        self.assertEqual(recall(ranking, {"a", "b", "c"}), 2 / 3)
        self.assertEqual(reciprocal_rank(ranking, {"a", "b", "c"}), 1 / 2)

    def test_the_tenth_counts_and_the_eleventh_does_not(self):
        others = [str(number) for number in range(9)]
        self.assertAlmostEqual(ndcg([*others, "a"], {"a"}), 0.28906, places=5)  # 1 / log2(11)
        self.assertEqual(reciprocal_rank([*others, "a"], {"a"}), 1 / 10)
        for metric in (ndcg, recall, reciprocal_rank):
            self.assertEqual(metric([*others, "x", "a"], {"a"}), 0)

    def test_more_relevant_than_places(self):
        relevant = {str(number) for number in range(20)}
        ranking = sorted(relevant)
        self.assertEqual(ndcg(ranking, relevant), 1)
        self.assertEqual(recall(ranking, relevant), 0.5)

    def test_nothing_found(self):
        for ranking in ([], ["x", "y"]):
            for metric in (ndcg, recall, reciprocal_rank):
                self.assertEqual(metric(ranking, {"a"}), 0)

    def test_an_id_that_occurs_again_counts_once_and_takes_no_place(self):
        self.assertEqual(ndcg(["a", "a"], {"a", "b"}), ndcg(["a"], {"a", "b"}))
        self.assertEqual(recall(["a", "a"], {"a", "b"}), 0.5)
        self.assertEqual(reciprocal_rank(["x", "x", "a"], {"a"}), 1 / 2)


class Means(unittest.TestCase):
    def test_standard_error(self):
        # Deviations 2, 0, 0, 2 of the mean 4: variance 8 / 3, and 8 / 12 of the mean.
        mean = Mean.of([2, 4, 4, 6])
        self.assertEqual(mean.value, 4)
        self.assertAlmostEqual(mean.error, math.sqrt(8 / 12))

    def test_one_value_has_no_error(self):
        self.assertEqual(Mean.of([0.5]), Mean(0.5, None))


class Correlations(unittest.TestCase):
    def test_equal_values_share_the_mean_of_their_ranks(self):
        self.assertEqual(ranks([3, 1, 3, 2, 3]), [4, 1, 4, 2, 4])
        self.assertEqual(ranks([5, 5]), [1.5, 1.5])

    def test_order_alone_counts(self):
        self.assertAlmostEqual(spearman([1, 2, 3], [1, 10, 100]), 1)
        self.assertAlmostEqual(spearman([1, 2, 3], [3, 2, 1]), -1)
        # 1 - 6 (1 + 1 + 0 + 0) / (4 (16 - 1))
        self.assertAlmostEqual(spearman([1, 2, 3, 4], [2, 1, 3, 4]), 0.8)

    def test_ties(self):
        # Ranks 1.5, 1.5, 3, 4: deviations -1, -1, 0.5, 1.5 from their mean, and -1.5, -0.5, 0.5, 1.5.
        self.assertAlmostEqual(spearman([1, 1, 2, 3], [1, 2, 3, 4]), 4.5 / (4.5 * 5) ** 0.5)


if __name__ == "__main__":
    unittest.main()
