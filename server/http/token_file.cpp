#include "server/http/token_file.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/base/sha256.hpp"
#include "sandbox/base/spelling.hpp"
#include "server/options/session_name.hpp"
#include "server/options/toml_file.hpp"
#include "server/options/values.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace berth::server::http {
namespace {

constexpr std::size_t hash_size = 64;
constexpr double most_calls_of_one = 4096;

constexpr TomlKind token_kind{
    .name = "the token file",
    .naming = "--token-file, and --operator-token-file, name TOML files that the server can read.",
    .form = "An entry is [tokens.NAME] with sha256 and principal; `berth token PRINCIPAL` makes "
            "one."};

/// What an entry may have, and the setting that it is; empty: of the entry itself.
const std::vector<std::pair<std::string, std::string>>& known_keys()
{
    static const std::vector<std::pair<std::string, std::string>> keys{
        {"sha256", ""},
        {"principal", ""},
        {"calls", ""},
        {"profile", "profile"},
        {"max_sessions", "session.max_per_principal"}};
    return keys;
}

[[noreturn]] void refuse_entry(const RawValue& value, const std::string& why,
                               const std::string& hint = token_kind.form)
{
    throw Error(ErrorCode::invalid_argument, value.origin + ": " + why, hint);
}

/// In the same time wherever they differ, so that no caller finds a hash byte by byte.
bool is_same_hash(std::string_view a, std::string_view b) noexcept
{
    unsigned difference = a.size() == b.size() ? 0 : 1;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        difference |= static_cast<unsigned>(static_cast<unsigned char>(a[i])) ^
                      static_cast<unsigned>(static_cast<unsigned char>(b[i]));
    }
    return difference == 0;
}

/// NAME and KEY of tokens.NAME.KEY.
std::pair<std::string, std::string> parts_of(const std::string& key, const RawValue& value)
{
    constexpr std::string_view table = "tokens.";
    const auto dot = key.rfind('.');
    if (!key.starts_with(table) || dot < table.size() || dot == std::string::npos) {
        refuse_entry(value, '"' + key + "\" is not of a token");
    }
    return {key.substr(table.size(), dot - table.size()), key.substr(dot + 1)};
}

void take_key(Caller& caller, std::string& hash, const std::string& key, const RawValue& value)
{
    const auto text = value.items.size() == 1 ? value.items.front() : std::string();
    const auto known =
        std::ranges::find(known_keys(), key, &std::pair<std::string, std::string>::first);
    if (known == known_keys().end()) {
        std::vector<std::string> names;
        for (const auto& [name, setting] : known_keys()) {
            names.push_back(name);
        }
        const auto near = nearest(key, names);
        refuse_entry(value, "unknown key \"" + key + '"' +
                                (near.empty() ? "" : "; did you mean " + near + '?'));
    }
    if (!known->second.empty()) {
        caller.settings[known->second] = text;
    } else if (key == "sha256") {
        const bool hex = text.find_first_not_of("0123456789abcdef") == std::string::npos;
        if (text.size() != hash_size || !hex) {
            refuse_entry(value, "sha256 is not the hash of a token: 64 small hex digits");
        }
        hash = text;
    } else if (key == "principal") {
        if (text.empty() || !is_showable(text)) {
            refuse_entry(value, "the principal is not UTF-8 of 1 to 256 bytes");
        }
        caller.principal = text;
    } else {
        const auto calls = parse_number(text);
        if (!calls || *calls < 1 || *calls > most_calls_of_one || std::floor(*calls) != *calls) {
            refuse_entry(value, "calls is not a number from 1 to 4096");
        }
        caller.calls = static_cast<std::size_t>(*calls);
    }
}

} // namespace

TokenFile::TokenFile(std::string path, std::shared_ptr<Accounts> accounts, Check check,
                     Told changed, Gone gone)
    : file_(std::move(path), "the token file ", std::move(changed)), check_(std::move(check)),
      gone_(std::move(gone)), accounts_(std::move(accounts)), entries_(read({}))
{
}

void TokenFile::tell_gone(const Entries& before, const Entries& now) const
{
    Callers present;
    for (const auto& entry : now) {
        present.push_back(entry.caller);
    }
    Callers gone;
    for (const auto& entry : before) {
        if (std::ranges::none_of(present, [&](const auto& caller) {
                return caller->principal == entry.caller->principal &&
                       caller->settings == entry.caller->settings;
            })) {
            gone.push_back(entry.caller);
        }
    }
    if (gone_ && !gone.empty()) {
        gone_(gone, present);
    }
}

bool TokenFile::is_known(const Entries& known, const std::string& hash, const Caller& caller)
{
    return std::ranges::any_of(known, [&](const Entry& entry) {
        return entry.hash == hash && entry.caller->principal == caller.principal &&
               entry.caller->settings == caller.settings;
    });
}

/// An entry of `known` is not checked anew: a profile that has gone since would keep a token that
/// is taken out of the file valid. Its sessions say so themselves.
std::shared_ptr<const TokenFile::Entries> TokenFile::read(const Entries& known)
{
    file_.require_unwritable();

    struct Draft {
        Caller caller;
        std::string hash;
        RawValue place;
    };

    std::map<std::string, Draft> drafts;
    for (const auto& [key, value] : read_toml(file_.path(), token_kind)) {
        if (key == "tokens.") { // the last entry was taken out, and the table's head left
            continue;
        }
        const auto [name, member] = parts_of(key, value);
        auto& draft = drafts[name];
        draft.place = value;
        if (!member.empty()) {
            take_key(draft.caller, draft.hash, member, value);
        }
    }
    auto entries = std::make_shared<Entries>();
    for (auto& [name, draft] : drafts) {
        if (draft.hash.empty() || draft.caller.principal.empty()) {
            refuse_entry(draft.place, "[tokens." + name + "] has no " +
                                          (draft.hash.empty() ? "sha256" : "principal"));
        }
        if (std::ranges::find(*entries, draft.hash, &Entry::hash) != entries->end()) {
            refuse_entry(draft.place, "[tokens." + name + "] has the token of another entry");
        }
        draft.caller.account = accounts_->of(draft.caller.principal);
        draft.caller.origin = file_.path() + ", tokens." + name;
        if (!is_known(known, draft.hash, draft.caller)) {
            check_(draft.caller);
        }
        entries->push_back({draft.hash, std::make_shared<const Caller>(std::move(draft.caller))});
    }
    return entries;
}

std::shared_ptr<const Caller> TokenFile::find(std::string_view token)
{
    std::shared_ptr<const Entries> entries;
    {
        const std::lock_guard lock(mutex_);
        file_.look([this] {
            const auto before = std::exchange(entries_, read(*entries_));
            tell_gone(*before, *entries_);
            return std::string();
        });
        entries = entries_;
    }
    const auto hash = sha256_hex(token);
    std::shared_ptr<const Caller> found;
    for (const auto& entry : *entries) { // all of them, however early it is found
        if (is_same_hash(entry.hash, hash)) {
            found = entry.caller;
        }
    }
    return found;
}

} // namespace berth::server::http
