#pragma once

#include "sandbox/guest/search/block_reader.hpp"
#include "sandbox/guest/search/matcher.hpp"

#include <cstdint>

namespace berth::guest::search {

struct FileCount {
    std::uint64_t units = 0;                            ///< matching lines, or occurrences
    BlockReader::Status end = BlockReader::Status::end; ///< why it went no further
};

struct CountOptions {
    bool occurrences = false; ///< count these, not the lines that have any
    bool first_only = false;  ///< one is enough
};

/// Counts what a file has, whatever its size in bounded memory.
[[nodiscard]] FileCount count_matches(BlockReader& reader, int fd, const Matcher& matcher,
                                      const CountOptions& options);

} // namespace berth::guest::search
