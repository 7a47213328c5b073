// Semantic search in C++17: embeds some lines once, then answers queries.
//
//   semantic_search MODEL TEXTS QUERY…

#include <nanoembed.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

int main(int count, char **arguments) {
    if (count < 4) return std::fprintf(stderr, "usage: %s MODEL TEXTS QUERY…\n", arguments[0]), 2;
    const auto fail = [](const char *what, const std::string &why) {
        return std::fprintf(stderr, "%s: %s\n", what, why.c_str()), 1;
    };
    auto model = nanoembed::model::open(arguments[1]);
    if (!model) return fail(arguments[1], model.error().text());
    auto workspace = model->make_workspace();
    if (!workspace) return fail(arguments[1], workspace.error().text());

    struct entry {
        std::string line;
        std::vector<float> vector;
    };
    std::vector<entry> entries;
    std::ifstream texts(arguments[2]);
    if (!texts) return fail(arguments[2], "cannot be read");
    for (std::string line; std::getline(texts, line);) {
        if (line.empty()) continue;
        std::vector<float> vector(model->dimensions());
        if (auto done = model->embed(*workspace, line, vector); !done) return fail(line.c_str(), done.error().text());
        entries.push_back({std::move(line), std::move(vector)});
    }

    std::vector<float> query(model->dimensions());
    for (int i = 3; i < count; i++) {
        if (auto done = model->embed(*workspace, std::string_view(arguments[i]), query); !done)
            return fail(arguments[i], done.error().text());
        const auto nearer = [&](const entry &a, const entry &b) {
            return nanoembed::cosine(a.vector, query) < nanoembed::cosine(b.vector, query);
        };
        const auto best = std::max_element(entries.begin(), entries.end(), nearer);
        if (best != entries.end())
            std::printf("%s -> %s (%.3f)\n", arguments[i], best->line.c_str(), nanoembed::cosine(best->vector, query));
    }
}
