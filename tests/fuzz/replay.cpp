// Runs one target without libFuzzer: on each file of its corpus, and on some hundred small changes
// of each, always the same ones. The file LAST has the input that it was at. `replay` alone prints
// the names of the targets.

#include "sandbox/base/unique_fd.hpp"
#include "tests/fuzz/mutation.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace {

using berth::fuzz::Mutation;
using berth::fuzz::Target;

constexpr int changes_of_each = 300;
constexpr std::size_t largest = 8192;

struct Seed {
    std::string name;
    std::string content;
};

std::vector<Seed> seeds_of(const char* folder)
{
    std::vector<Seed> seeds;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        std::ifstream in(file.path(), std::ios::binary);
        seeds.push_back(
            {file.path().filename().string(), std::string(std::istreambuf_iterator<char>(in), {})});
    }
    std::ranges::sort(seeds, {}, &Seed::name);
    return seeds;
}

/// Keeps the present input where somebody finds it when the target brings this process down.
class LastInput {
  public:
    explicit LastInput(const char* path)
        : fd_(::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600))
    {
    }

    void keep(const std::string& input) const
    {
        if (::pwrite(fd_.get(), input.data(), input.size(), 0) < 0 ||
            ::ftruncate(fd_.get(), static_cast<off_t>(input.size())) != 0) {
            throw std::runtime_error("the present input cannot be kept");
        }
    }

  private:
    berth::UniqueFd fd_;
};

/// False where something came out of the target.
bool passes(const Target& target, const std::string& input, const std::string& what)
try {
    target.run(input);
    return true;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(), error.what());
    return false;
}

bool replay(const Target& target, const std::vector<Seed>& seeds, const LastInput& last)
{
    std::vector<std::string> contents;
    std::ranges::transform(seeds, std::back_inserter(contents), &Seed::content);
    std::uint64_t number = 0;
    for (const auto& seed : seeds) {
        for (int i = 0; i <= changes_of_each; ++i) {
            const std::string input =
                i == 0 ? seed.content : Mutation(++number).of(seed.content, contents, largest);
            last.keep(input);
            if (!passes(target, input, seed.name + ", change " + std::to_string(i))) {
                return false;
            }
        }
    }
    return true;
}

} // namespace

int main(int argc, char** argv)
{
    const auto& all = berth::fuzz::targets();
    if (argc == 1) {
        for (const auto& target : all) {
            std::printf("%s\n", std::string(target.name).c_str());
        }
        return 0;
    }
    const auto target = std::ranges::find(all, std::string_view(argv[1]), &Target::name);
    if (target == all.end() || argc != 4) {
        std::fprintf(stderr,
                     "usage: replay [TARGET FOLDER LAST]; without them it lists the targets\n");
        return 2;
    }
    const auto seeds = seeds_of(argv[2]);
    if (seeds.empty()) {
        std::fprintf(stderr, "%s has no files\n", argv[2]);
        return 2;
    }
    return replay(*target, seeds, LastInput(argv[3])) ? 0 : 1;
}
