#include "server/http/accounts.hpp"

namespace berth::server::http {
namespace {

/// So many names more are remembered before those that nobody uses are let go.
constexpr std::size_t names_between_sweeps = 256;

} // namespace

std::shared_ptr<Account> Accounts::of(const std::string& principal)
{
    const std::lock_guard lock(mutex_);
    auto& known = known_[principal];
    if (auto account = known.lock()) {
        return account;
    }
    auto account = std::make_shared<Account>();
    known = account;
    if (known_.size() > swept_at_ + names_between_sweeps) {
        std::erase_if(known_, [](const auto& each) { return each.second.expired(); });
        swept_at_ = known_.size();
    }
    return account;
}

} // namespace berth::server::http
