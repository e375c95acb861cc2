#include "server/http/trust_file.hpp"

#include "sandbox/base/error.hpp"

#include <exception>
#include <utility>

#include <sys/stat.h>

namespace berth::server::http {
namespace {

constexpr std::chrono::seconds look_interval{1};

} // namespace

TrustFile::TrustFile(std::string path, std::string what, Told changed)
    : path_(std::move(path)), what_(std::move(what)), changed_(std::move(changed))
{
    (void)watch_.look(path_);
}

void TrustFile::require_unwritable() const
{
    struct stat status{};
    if (::stat(path_.c_str(), &status) == 0 && (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        throw Error(ErrorCode::invalid_argument,
                    what_ + path_ + " may be written to by others than its owner",
                    "chmod go-w " + path_);
    }
}

void TrustFile::look(const Read& read)
{
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_ < look_interval) {
        return;
    }
    looked_ = now;
    switch (watch_.look(path_)) {
    case FileWatch::State::same:
        if (!refused_.empty() && watch_.is_as_taken()) { // else it is just being written
            read_again(read);
        }
        return;
    case FileWatch::State::gone:
        refused_.clear(); // nothing is left to be tried
        changed_("it is gone; what it said holds until it is there again");
        return;
    case FileWatch::State::changed:
        refused_.clear(); // of another state
        read_again(read);
    }
}

void TrustFile::read_again(const Read& read)
{
    std::string told;
    const auto known = std::exchange(refused_, {});
    try {
        told = read();
    } catch (const std::exception& error) {
        refused_ = error.what();
        told = refused_;
    }
    if (refused_.empty() || refused_ != known) {
        changed_(told);
    }
}

} // namespace berth::server::http
