// Semantic search in C++17: embeds some lines once, then answers queries.
//
//   semantic_search MODEL.weights TEXTS QUERY…

#include <nanoembed.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

int main(int count, char **arguments) {
    if (count < 4) return 2;
    std::ifstream file(arguments[1], std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
    auto model = nanoembed::model::open(nanoembed::source::buffer(bytes.data(), bytes.size()));
    if (!model) {
        std::fprintf(stderr, "%s: %s\n", arguments[1], model.error().text().c_str());
        return 1;
    }
    auto workspace = model->make_workspace();
    if (!workspace) return 1;

    struct entry {
        std::string line;
        std::vector<float> vector;
    };
    std::vector<entry> entries;
    std::ifstream texts(arguments[2]);
    for (std::string line; std::getline(texts, line);) {
        if (line.empty()) continue;
        std::vector<float> vector(model->dimensions());
        if (auto done = model->embed(*workspace, line, vector); !done) {
            std::fprintf(stderr, "%s: %s\n", line.c_str(), done.error().message());
            return 1;
        }
        entries.push_back({std::move(line), std::move(vector)});
    }

    std::vector<float> query(model->dimensions());
    for (int i = 3; i < count; i++) {
        if (!model->embed(*workspace, std::string_view(arguments[i]), query)) return 1;
        const auto nearer = [&](const entry &a, const entry &b) {
            return nanoembed::cosine(a.vector, query) < nanoembed::cosine(b.vector, query);
        };
        const auto best = std::max_element(entries.begin(), entries.end(), nearer);
        if (best != entries.end())
            std::printf("%s -> %s (%.3f)\n", arguments[i], best->line.c_str(), nanoembed::cosine(best->vector, query));
    }
}
