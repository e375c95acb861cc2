// Calls a server of MCP as fast as it answers. call-load stdio COMMAND... starts one; call-load
// http PORT [HEADER...] has one that listens on 127.0.0.1. Each line of its input, CALLERS
// MILLISECONDS PARAMS, is one measurement, and each line of its output what came of it
// (load_figures.hpp), or "error WHY".

#include "tests/bench/load.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

std::unique_ptr<berth::bench::Load> load_of(const std::vector<std::string>& words)
{
    if (words.size() >= 2 && words[0] == "stdio") {
        return berth::bench::stdio_load({words.begin() + 1, words.end()});
    }
    if (words.size() >= 2 && words[0] == "http") {
        std::string headers;
        for (std::size_t i = 2; i < words.size(); ++i) {
            headers += words[i] + "\r\n";
        }
        return berth::bench::http_load(std::atoi(words[1].c_str()), headers);
    }
    throw std::invalid_argument("usage: call-load stdio COMMAND... | http PORT [HEADER...]");
}

} // namespace

int main(int argc, char** argv)
try {
    const auto load = load_of({argv + 1, argv + argc});
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::size_t callers = 0;
        int milliseconds = 0;
        std::string params;
        words >> callers >> milliseconds >> std::ws;
        std::getline(words, params);
        load->run(callers, std::chrono::milliseconds(milliseconds), params);
    }
    return 0;
} catch (const std::exception& error) {
    std::printf("error %s\n", error.what());
    return 1;
}
