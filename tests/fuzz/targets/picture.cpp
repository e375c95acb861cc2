// The bytes of a picture, taken for each kind of picture.

#include "tools/picture.hpp"

#include "tests/fuzz/target.hpp"

BERTH_FUZZ_TARGET(picture)
{
    using berth::fuzz::require;
    for (const auto* type : {"image/png", "image/jpeg", "image/gif", "image/webp"}) {
        const auto fault = berth::tools::picture_fault(input, type);
        const auto size = berth::tools::picture_size(input, type);
        if (fault.empty()) {
            require(size && size->width > 0 && size->height > 0, "a whole picture has a size");
            require(size->width <= berth::tools::most_pixels &&
                        size->height <= berth::tools::most_pixels,
                    "it can be shown");
        }
    }
}
