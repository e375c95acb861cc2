// libFuzzer's way into the one target that is linked with it.

#include "tests/fuzz/target.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const berth::fuzz::Run run = [] {
        const auto& all = berth::fuzz::targets();
        if (all.size() != 1) {
            std::abort(); // built wrongly
        }
        return all.front().run;
    }();
    run({reinterpret_cast<const char*>(data), size});
    return 0;
}
