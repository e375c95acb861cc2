#include "sandbox/guest/files/file_facts.hpp"

#include "sandbox/guest/files/stream.hpp"

namespace berth::guest {

std::uint64_t size_to_read(const Opened& file) noexcept
{
    constexpr std::uint64_t max_unsized = 16ULL * 1024 * 1024;
    const auto size = static_cast<std::uint64_t>(file.status.st_size);
    return size == 0 ? max_unsized : size;
}

FileFacts::FileFacts(const Opened& file)
    : stated_size_(static_cast<std::uint64_t>(file.status.st_size))
{
    if (stated_size_ <= max_hashed_size) {
        hash_.emplace();
    }
}

void FileFacts::feed(std::string_view piece)
{
    fed_ += piece.size();
    if (hash_) {
        hash_->update(piece);
    }
}

void FileFacts::finish(protocol::ReadFileReply& reply)
{
    reply.size = hash_ ? fed_ : stated_size_;
    if (hash_) {
        reply.sha256 = hash_->finish();
    }
}

} // namespace berth::guest
