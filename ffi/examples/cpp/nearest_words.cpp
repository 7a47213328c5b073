// The words that are nearest to a word, which the vocabulary may lack:   nearest_words VECTORS.fifu WORD
#include <nanoembed.hpp>

#include <cstdio>

int main(int count, char **arguments) {
    if (count != 3) return std::fprintf(stderr, "usage: %s VECTORS.fifu WORD\n", arguments[0]), 2;
    const auto fail = [](const auto &error) { return std::fprintf(stderr, "%s\n", error.text().c_str()), 1; };
    const auto file = nanoembed::mapped_file::open(arguments[1]);
    if (!file) return fail(file.error());
    const auto words = nanoembed::words::open(*file);
    if (!words) return fail(words.error());
    // A word that the vocabulary lacks has the vector of its n-grams.
    const auto query = words->vector(arguments[2]);
    if (!query) return fail(query.error());
    const auto nearest = words->similar(*query, 3);
    if (!nearest) return fail(nearest.error());
    for (const auto &near : *nearest) std::printf("%s %.2f\n", words->word(near.row)->c_str(), near.score);
}
