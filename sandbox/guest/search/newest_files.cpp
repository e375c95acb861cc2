#include "sandbox/guest/search/newest_files.hpp"

#include <algorithm>
#include <utility>

namespace berth::guest::search {

namespace {

constexpr std::size_t max_name_bytes = 8U << 20;

} // namespace

NewestFiles::NewestFiles(std::uint64_t limit) : limit_(limit == 0 ? ~std::uint64_t{0} : limit) {}

void NewestFiles::add(std::string_view path, std::int64_t mtime)
{
    const std::lock_guard lock(mutex_);
    ++total_;
    heap_.push_back({mtime, std::string(path)});
    bytes_ += path.size();
    std::ranges::push_heap(heap_, std::less<>());
    while (heap_.size() > limit_ || (bytes_ > max_name_bytes && heap_.size() > 1)) {
        std::ranges::pop_heap(heap_, std::less<>());
        bytes_ -= heap_.back().path.size();
        heap_.pop_back();
    }
}

std::vector<std::string> NewestFiles::take()
{
    const std::lock_guard lock(mutex_);
    std::ranges::sort_heap(heap_, std::less<>());
    std::vector<std::string> paths;
    paths.reserve(heap_.size());
    for (File& file : heap_) {
        paths.push_back(std::move(file.path));
    }
    heap_.clear();
    return paths;
}

} // namespace berth::guest::search
