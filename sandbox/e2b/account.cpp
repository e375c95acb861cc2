#include "sandbox/e2b/account.hpp"

#include "sandbox/base/hex.hpp"
#include "sandbox/base/sha256.hpp"

#include <cstddef>
#include <utility>

namespace berth::e2b {
namespace {

constexpr std::size_t digits = 16;

bool is_account(const std::string& text)
{
    return text.size() == digits && text.find_first_not_of(small_hex_digits) == std::string::npos;
}

} // namespace

std::string account_of(const Settings& settings)
{
    return sha256_hex("berth e2b account\n" + settings.api.shown() + '\n' + settings.api_key)
        .substr(0, digits);
}

std::string account_in(const std::string& number)
{
    constexpr std::size_t random = 32; // digits before it
    return number.size() == random + digits ? known_account(number.substr(random)) : std::string();
}

std::string known_account(const std::string& text)
{
    return text.empty() || is_account(text) ? text : sha256_hex(text).substr(0, digits);
}

void require_accounts(const std::vector<std::string>& accounts)
{
    for (const auto& account : accounts) {
        if (!is_account(account)) {
            // Not quoted: a key may have been put there.
            throw Error(
                ErrorCode::invalid_argument, "that is no account of E2B as berth names it",
                "Set it to the 16 hexadecimal digits that the message about a sandbox has.");
        }
    }
}

Accounts::Accounts(std::string own, std::vector<std::string> same)
    : own_(std::move(own)), same_(same.begin(), same.end())
{
    same_.insert(own_);
}

void Accounts::note_seen(const std::string& account)
{
    const std::lock_guard lock(mutex_);
    same_.insert(account);
}

void Accounts::require_word_on(const std::string& what, const std::string& account) const
{
    const std::lock_guard lock(mutex_);
    if (account.empty() || same_.contains(account)) {
        return;
    }
    throw Error(ErrorCode::sandbox_unavailable,
                "E2B does not show " + what +
                    " to E2B_API_KEY, and it was made with another key, or at another address: it "
                    "may be there, with its files, for whoever has that one",
                "Set E2B_API_KEY, E2B_DOMAIN and E2B_API_URL as they were then. Where the key was "
                "only replaced by another one of the same team, it is gone: say so with "
                "BERTH_E2B_SAME_ACCOUNT=" +
                    account + " (setting e2b.same_account), which a server reads at its start.");
}

} // namespace berth::e2b
