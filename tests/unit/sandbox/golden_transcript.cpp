#include "tests/unit/sandbox/golden_transcript.hpp"

#include "sandbox/protocol/wire.hpp"
#include "tests/unit/sandbox/programs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace berth::test {
namespace {

using protocol::WireReader;
using protocol::WireType;

std::string bytes_of(const std::string& hex)
{
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
    return bytes;
}

protocol::Frame frame_of(const std::string& bytes)
{
    protocol::FrameReader reader(protocol::max_payload_size);
    reader.feed(bytes);
    auto frame = reader.next();
    if (!frame || !reader.empty()) {
        throw std::runtime_error("not one frame");
    }
    return *frame;
}

/// The values of each field, in order; numbers as text.
std::map<std::uint32_t, std::vector<std::string>> fields_of(std::string_view message)
{
    std::map<std::uint32_t, std::vector<std::string>> fields;
    WireReader reader(message);
    while (!reader.done()) {
        const auto key = reader.key();
        fields[key.number].push_back(key.type == WireType::bytes ? std::string(reader.bytes())
                                                                 : std::to_string(reader.varint()));
    }
    return fields;
}

/// Those in the message in field `number`.
std::vector<std::string> inside(const std::vector<std::string>& differs, std::uint32_t number)
{
    const auto prefix = std::to_string(number) + ".";
    std::vector<std::string> result;
    for (const auto& path : differs) {
        if (path.starts_with(prefix)) {
            result.push_back(path.substr(prefix.size()));
        }
    }
    return result;
}

} // namespace

std::vector<GoldenFrame> golden_transcript(const std::string& name)
{
    std::ifstream file(std::string(BERTH_GOLDEN_FOLDER "/") + name + ".hex");
    std::vector<GoldenFrame> frames;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string mark;
        std::string word;
        words >> mark;
        if (mark == "~") {
            while (words >> word) {
                frames.back().differs.push_back(word);
            }
        } else if (mark == ">" || mark == "<") {
            words >> word;
            const auto bytes = bytes_of(word);
            frames.push_back(
                {.by_host = mark == ">", .bytes = bytes, .frame = frame_of(bytes), .differs = {}});
        } else if (mark != "#") {
            throw std::runtime_error("a line that begins with " + mark);
        }
    }
    if (frames.empty()) {
        throw std::runtime_error("no transcript " + name);
    }
    return frames;
}

std::string missing_of(std::string_view then, std::string_view now,
                       const std::vector<std::string>& differs)
{
    auto found = fields_of(now);
    for (const auto& [number, values] : fields_of(then)) {
        const auto name = std::to_string(number);
        const auto& others = found[number];
        if (std::ranges::find(differs, name) != differs.end()) {
            if (others.empty()) {
                return "field " + name + " is not there";
            }
            continue;
        }
        if (others.size() != values.size()) {
            return "field " + name + " is there " + std::to_string(others.size()) + " times";
        }
        const auto nested = inside(differs, number);
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (!nested.empty()) {
                if (auto missing = missing_of(values[i], others[i], nested); !missing.empty()) {
                    return "in " + name + ": " + missing;
                }
            } else if (values[i] != others[i]) {
                return "field " + name + " was " + values[i] + " and is " + others[i];
            }
        }
    }
    return {};
}

} // namespace berth::test
