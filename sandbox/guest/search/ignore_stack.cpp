#include "sandbox/guest/search/ignore_stack.hpp"

#include "sandbox/base/unique_fd.hpp"

#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace berth::guest::search {

namespace {

/// A larger ignore file would be an attempt to fill the guest's memory; its rules are left out.
constexpr std::size_t max_ignore_file = 1U << 20;

bool exists(int dirfd, const char* name) noexcept
{
    return ::faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

Verdict judge_one(const IgnoreRules& rules, Verdict so_far, std::string_view path,
                  bool is_directory, SearchLimits* limits) noexcept
{
    if (so_far != Verdict::none || rules.empty()) {
        return so_far;
    }
    return rules.match(path, is_directory, limits);
}

} // namespace

void IgnoreFiles::note(std::string_view name) noexcept
{
    if (name.size() < 4 || name[0] != '.') {
        return;
    }
    git = git || name == ".git";
    gitignore = gitignore || name == ".gitignore";
    ignore = ignore || name == ".ignore";
    rgignore = rgignore || name == ".rgignore";
}

IgnoreFiles probe_ignore_files(int dirfd) noexcept
{
    return {.git = exists(dirfd, ".git"),
            .gitignore = exists(dirfd, ".gitignore"),
            .ignore = exists(dirfd, ".ignore"),
            .rgignore = exists(dirfd, ".rgignore")};
}

/// What cannot be read has no rules. Never waits for the writer of a FIFO of that name.
void IgnoreLevel::load(IgnoreRules& rules, int dirfd, const char* name)
{
    const UniqueFd fd(::openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status{};
    if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
        return;
    }
    if (static_cast<std::size_t>(status.st_size) > max_ignore_file) {
        lease_.budget().note_capped_file();
        return;
    }
    std::string content(static_cast<std::size_t>(status.st_size), '\0');
    const ssize_t got = ::read(fd.get(), content.data(), content.size());
    content.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    if (!rules.add_file(content, &lease_)) {
        lease_.budget().note_capped_file();
    }
}

IgnoreLevel::Pointer IgnoreLevel::enter(Pointer parent, int dirfd, std::string_view path,
                                        const IgnoreFiles& files, RuleBudget& budget)
{
    const bool in_repository = files.git || (parent && parent->in_repository_);
    const bool use_gitignore = files.gitignore && in_repository;
    if (!files.git && !use_gitignore && !files.ignore && !files.rgignore) {
        return parent;
    }
    const auto level = std::make_shared<IgnoreLevel>(budget);
    level->parent_ = std::move(parent);
    level->base_ = path == "/" ? 1 : path.size() + 1;
    level->is_repository_ = files.git;
    level->in_repository_ = in_repository;
    if (files.rgignore) {
        level->load(level->rgignore_, dirfd, ".rgignore");
    }
    if (files.ignore) {
        level->load(level->ignore_, dirfd, ".ignore");
    }
    if (use_gitignore) {
        level->load(level->gitignore_, dirfd, ".gitignore");
    }
    if (files.git) {
        level->load(level->exclude_, dirfd, ".git/info/exclude");
    }
    return level;
}

IgnoreLevel::Pointer IgnoreLevel::above(const std::string& path, RuleBudget& budget)
{
    Pointer level;
    for (std::size_t at = 0; path != "/" && at != std::string::npos; at = path.find('/', at + 1)) {
        const std::string directory = at == 0 ? "/" : path.substr(0, at);
        const UniqueFd fd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        if (fd) {
            level =
                enter(std::move(level), fd.get(), directory, probe_ignore_files(fd.get()), budget);
        }
    }
    return level;
}

Verdict IgnoreLevel::judge(const IgnoreLevel* level, std::string_view path, bool is_directory,
                           SearchLimits* limits) noexcept
{
    Verdict rgignore = Verdict::none;
    Verdict ignore = Verdict::none;
    Verdict gitignore = Verdict::none;
    Verdict exclude = Verdict::none;
    bool in_repository = level != nullptr && level->in_repository_;
    for (; level != nullptr; level = level->parent_.get()) {
        const std::string_view relative = path.substr(level->base_);
        rgignore = judge_one(level->rgignore_, rgignore, relative, is_directory, limits);
        ignore = judge_one(level->ignore_, ignore, relative, is_directory, limits);
        if (in_repository) {
            gitignore = judge_one(level->gitignore_, gitignore, relative, is_directory, limits);
            exclude = judge_one(level->exclude_, exclude, relative, is_directory, limits);
        }
        // A repository does not obey the .gitignore of the one it lies in.
        in_repository = in_repository && !level->is_repository_;
    }
    for (const Verdict verdict : {rgignore, ignore, gitignore, exclude}) {
        if (verdict != Verdict::none) {
            return verdict;
        }
    }
    return Verdict::none;
}

} // namespace berth::guest::search
