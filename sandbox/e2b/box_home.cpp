#include "sandbox/e2b/box_home.hpp"

#include "sandbox/base/random.hpp"
#include "sandbox/e2b/account.hpp"
#include "sandbox/e2b/api_client.hpp"
#include "sandbox/e2b/box_request.hpp"

namespace berth::e2b {
namespace {

constexpr const char* id_key = "box";
constexpr const char* number_key = "number";
constexpr const char* proof_key = "proof";
constexpr const char* account_key = "account";

std::string text_at(const std::map<std::string, std::string>& texts, const char* key)
{
    const auto found = texts.find(key);
    return found == texts.end() ? std::string() : found->second;
}

} // namespace

std::string account_of(const BoxHome& home)
{
    return home.account.empty() ? account_in(home.number) : home.account;
}

std::map<std::string, std::string> encode(const BoxHome& home)
{
    std::map<std::string, std::string> texts{{id_key, home.id}, {number_key, home.number}};
    if (!home.proof.empty()) {
        texts.emplace(proof_key, home.proof);
    }
    if (!home.account.empty()) {
        texts.emplace(account_key, home.account);
    }
    return texts;
}

std::optional<BoxHome> home_in(const std::map<std::string, std::string>& home)
{
    BoxHome found{.id = text_at(home, id_key),
                  .number = text_at(home, number_key),
                  .proof = text_at(home, proof_key),
                  .account = known_account(text_at(home, account_key))};
    const bool named = !found.id.empty() && !(found.number.empty() && found.proof.empty());
    return named ? std::optional(std::move(found)) : std::nullopt;
}

std::optional<BoxHome> home_of(const sandbox::MachineRecord& record)
{
    if (auto home = home_in(record.home)) {
        return home;
    }
    // Of a release that kept none: its sandbox had one machine only.
    return record.id.empty() || record.generation.empty()
               ? std::nullopt
               : std::optional(BoxHome{.id = record.id, .number = record.generation, .proof = {}});
}

Error ends_at_its_limit(const std::string& id)
{
    return {
        ErrorCode::conflict,
        "E2B ends the sandbox " + id +
            " when its time limit runs out, with all files, and nobody can change that any more",
        "A session's sandbox has to sleep then: make it with autoPause (in E2B's clients "
        "lifecycle, on_timeout = pause), as berth makes those of sessions that have a name. Or "
        "take what is needed out of it first."};
}

BoxHome home_for_adoption(const BoxInfo& box)
{
    if (box.ends_at_limit) {
        throw ends_at_its_limit(box.box.id);
    }
    BoxHome home{
        .id = box.box.id, .number = text_at(box.metadata, metadata_keys::generation), .proof = {}};
    if (home.number.empty()) {
        home.proof = random_hex(32);
    } else if (box.state == BoxState::running) {
        throw Error(Error(ErrorCode::busy,
                          "the sandbox " + home.id +
                              " was made by berth and runs, so a server with other books may be "
                              "using it",
                          "Have it sleep first: its own berth by `berth sessions pause`, or E2B's "
                          "client, or the limit that it has.")
                        .set_retryable(true));
    }
    return home;
}

Error no_longer_ours(const BoxHome& home)
{
    return {ErrorCode::conflict,
            "the sandbox " + home.id +
                " does not have what berth left in it when it was taken over, so it may be "
                "somebody else's",
            "Nothing in it was changed. Look at it with E2B's own client."};
}

bool is_of(const BoxInfo& box, const BoxHome& home)
{
    return bare_id(box.box.id) == bare_id(home.id) &&
           text_at(box.metadata, metadata_keys::generation) == home.number;
}

} // namespace berth::e2b
