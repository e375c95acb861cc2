#include "server/session_saver.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/workspace/store.hpp"
#include "server/options/paths.hpp"
#include "tools/upload.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace berth::server {
namespace {

/// The name of the session's folder: a component of a path, readable, and no other session's of the
/// same principal.
std::string folder_name(const session::Leaving& leaving)
{
    constexpr std::size_t longest = 180; // of 255, with what comes behind it
    const auto& id = leaving.id;
    auto name = as_component(id.session);
    const bool is_usual = leaving.key == session::key_hash({id.principal, id.session, {}});
    if (!is_usual || name.size() > longest) {
        name = name.substr(0, longest) + key_tail(leaving.key);
    }
    return name;
}

std::unique_ptr<workspace::Store> store_for(const session::Leaving& leaving)
{
    if (leaving.id.principal.empty()) {
        throw Error(ErrorCode::authentication_required,
                    "the workspace belongs to a principal, and this session has none",
                    "`berth sessions kill` with --purge --no-save removes the home.");
    }
    return workspace::make_directory_store(leaving.what.workspace);
}

/// Which nobody has put a file into.
std::string free_folder(const session::Leaving& leaving)
{
    constexpr int most = 10'000;
    const auto store = store_for(leaving);
    const auto base = "/sessions/" + folder_name(leaving);
    for (int i = 1; i < most; ++i) {
        auto folder = i == 1 ? base : base + '-' + std::to_string(i);
        std::size_t total = 0;
        (void)store->list(leaving.id.principal, folder, 0, total);
        if (total == 0) {
            return folder;
        }
    }
    throw Error(ErrorCode::conflict,
                "the workspace has " + base + " and " + std::to_string(most) +
                    " folders more of that name",
                "Delete those that nobody needs.");
}

/// What one pattern names; of none there is nothing to save.
std::optional<protocol::ExportReply> take(tools::Upload& upload, sandbox::Sandbox& sandbox,
                                          const std::string& pattern,
                                          const tools::Upload::Target& target,
                                          const std::stop_token& stop)
{
    const auto before = upload.names().size();
    try {
        return upload.take(sandbox, {.path = "~/" + pattern, .from_home = true}, target, stop);
    } catch (const Error& error) {
        if (error.code() == ErrorCode::not_found && upload.names().size() == before) {
            return std::nullopt;
        }
        throw Error(error.code(), pattern + ": " + error.what(), error.hint());
    }
}

session::SavedFiles save(sandbox::Sandbox& sandbox, const session::Leaving& leaving,
                         const std::stop_token& stop)
{
    const auto store = store_for(leaving);
    session::SavedFiles saved;
    saved.folder = leaving.folder;
    const tools::Progress nobody;
    tools::Upload upload(*store, leaving.id.principal, !leaving.is_first, nobody);
    std::set<std::string> taken; // two patterns may name one file
    const auto target = [&](const protocol::TransferHeader& header) {
        return taken.insert(header.name).second ? std::optional(saved.folder + '/' + header.name)
                                                : std::nullopt;
    };
    for (const auto& pattern : leaving.what.patterns) {
        if (auto reply = take(upload, sandbox, pattern, target, stop)) {
            std::move(reply->skipped.begin(), reply->skipped.end(),
                      std::back_inserter(saved.skipped));
        }
    }
    const auto entries = upload.commit(stop);
    saved.files = entries.size();
    for (const auto& entry : entries) {
        saved.bytes += entry.size;
    }
    if (entries.empty() && leaving.is_first) {
        saved.folder.clear();
    }
    return saved;
}

} // namespace

session::ChooseFolder make_folder_chooser()
{
    return free_folder;
}

session::SaveFiles make_session_saver()
{
    return save;
}

} // namespace berth::server
