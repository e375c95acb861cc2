#include "sandbox/local/programs.hpp"

#include "sandbox/base/error.hpp"
#include "sandbox/local/template_files.hpp"
#include "sandbox/local/template_rules.hpp"

#include <utility>

namespace berth::local {
namespace {

Private to_hide(const std::vector<OwnFolder>& own, const std::string& runtime)
{
    Private found{.folders = {runtime}, .home = home_folder()};
    for (const auto& folder : own) {
        found.folders.push_back(folder.path);
    }
    return found;
}

} // namespace

Programs::Programs(HostFiles shown, Private hidden)
    : files(std::move(shown)), covers(files.binds, std::move(hidden))
{
}

ProgramFinder::ProgramFinder(const std::string& state, const std::string& workspace,
                             const std::string& runtime)
    : own_(own_folders(state, workspace)), hidden_(to_hide(own_, runtime)),
      host_(std::make_shared<Programs>(find_host_files("/"), hidden_))
{
}

std::shared_ptr<Programs> ProgramFinder::find(const std::string& template_directory,
                                              const std::vector<sandbox::Mount>& mounts)
try {
    if (template_directory.empty()) {
        return host_;
    }
    check_template(template_directory, mounts, own_);
    auto files = find_template_files(template_directory);
    const std::lock_guard lock(mutex_);
    // The same as long as nothing changed: a root that was put together ahead fits then.
    if (!latest_ || latest_->files != files) {
        latest_ = std::make_shared<Programs>(std::move(files), hidden_);
    }
    return latest_;
} catch (const Error& error) {
    // The server was told of it at its start: it is not the caller's mistake.
    throw Error(ErrorCode::sandbox_unavailable,
                std::string("no sandbox can be made: ") + error.what(), error.hint());
}

} // namespace berth::local
