#include "sandbox/guest/search/walker.hpp"

#include "sandbox/guest/paths.hpp"
#include "sandbox/guest/search/directory_lister.hpp"
#include "sandbox/guest/search/search_root.hpp"
#include "sandbox/guest/search/task_stack.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sched.h>

namespace berth::guest::search {

namespace {

/// Directories deeper than this are opened through an ancestor's descriptor, so that a deep tree
/// cannot use up the guest's descriptors.
constexpr std::size_t max_held_depth = 64;
/// What cannot be named to any tool is not visited either (PATH_MAX).
constexpr std::size_t max_path = 4095;
/// Files of one directory that one thread takes at once.
constexpr std::size_t batch_size = 64;

using Handle = std::shared_ptr<const UniqueFd>;

/// Sub-directories are kept as names, not as tasks of their own: a directory of a million of them
/// would otherwise fill the guest's memory.
struct Task {
    enum class Kind : std::uint8_t {
        directory,      ///< to list
        rest,           ///< of a directory that was listed in part; `level` is its own
        subdirectories, ///< `names`, of a directory whose own `level` is
        files,          ///< `names` to visit, each after its type
    };

    Kind kind = Kind::directory;
    Handle base;      ///< `name` is relative to it
    std::string name; ///< of the directory; empty: `base` itself
    std::string path; ///< of the directory, absolute
    IgnoreLevel::Pointer level;
    std::size_t depth = 0;
    std::string names; ///< each with its NUL

    /// For TaskStack: one sub-directory out of several.
    [[nodiscard]] bool split(Task& one)
    {
        if (kind != Kind::subdirectories) {
            return false;
        }
        const std::size_t end = names.size() - 1;
        const std::size_t begin = names.rfind('\0', end - 1) + 1; // npos + 1 is 0
        const std::string_view last(names.data() + begin, end - begin);
        Task taken{
            .base = base, .name = name, .path = path, .level = level, .depth = depth, .names = {}};
        taken.name += (name.empty() ? "" : "/");
        taken.name += last;
        taken.path += path == "/" ? "" : "/";
        taken.path += last;
        names.resize(begin);
        const bool more = begin > 0;
        (more ? one : *this) = std::move(taken);
        return more;
    }
};

class Walk {
  public:
    Walk(const Selection& selection, const WalkOptions& options, SearchLimits& limits,
         WalkVisitor& visitor, WalkTotals& totals, RuleBudget& rules)
        : selection_(selection), options_(options), limits_(limits), visitor_(visitor),
          totals_(totals), rules_(rules)
    {
    }

    void run(Task root)
    {
        std::vector<Task> first;
        first.push_back(std::move(root));
        tasks_.push(std::move(first));
        std::vector<std::jthread> threads;
        for (unsigned i = 1; i < options_.threads; ++i) {
            try {
                threads.emplace_back([this, i] { work(i); });
            } catch (const std::system_error&) {
                break; // at the limit of processes: fewer threads do
            }
        }
        work(0);
        threads.clear();
        if (failure_) {
            std::rethrow_exception(failure_);
        }
    }

  private:
    void work(unsigned thread)
    {
        try {
            DirectoryLister lister;
            Task task;
            while (tasks_.pop(task)) {
                if (limits_.must_stop()) {
                    tasks_.abandon();
                } else if (task.kind == Task::Kind::files) {
                    visit_batch(thread, task);
                } else {
                    list(thread, lister, task);
                }
                task = Task();
                tasks_.finish();
            }
        } catch (...) {
            const std::lock_guard lock(mutex_);
            failure_ = failure_ ? failure_ : std::current_exception();
            tasks_.abandon();
        }
    }

    void list(unsigned thread, DirectoryLister& lister, const Task& task)
    {
        Handle handle = task.base;
        if (!task.name.empty()) {
            handle = std::make_shared<UniqueFd>(
                reopen_below(task.base->get(), task.name, O_RDONLY | O_DIRECTORY));
        }
        if (!handle->valid()) {
            totals_.unreadable.add(task.path + "/");
            return;
        }
        read(lister, *handle, task);
        const IgnoreLevel::Pointer level =
            task.kind == Task::Kind::rest ? task.level : enter(*handle, lister, task);
        for (;;) {
            std::vector<Task> more;
            const bool later = !lister.complete() && task.depth < max_held_depth;
            if (later) {
                // What is below comes first, so that the names of few portions wait at a time.
                more.push_back({.kind = Task::Kind::rest,
                                .base = handle,
                                .name = {},
                                .path = task.path,
                                .level = level,
                                .depth = task.depth,
                                .names = {}});
            }
            take_entries(thread, lister, task, handle, level, std::move(more));
            if (later || lister.complete() || limits_.must_stop()) {
                return;
            }
            read(lister, *handle, task);
        }
    }

    void read(DirectoryLister& lister, const UniqueFd& directory, const Task& task)
    {
        if (!lister.read_some(directory.get())) {
            totals_.unreadable.add(task.path + "/");
        }
    }

    [[nodiscard]] IgnoreLevel::Pointer enter(const UniqueFd& directory,
                                             const DirectoryLister& lister, const Task& task)
    {
        if (!options_.use_ignore_files) {
            return nullptr;
        }
        IgnoreFiles files;
        if (lister.complete()) {
            for (const auto& entry : lister.entries()) {
                files.note(lister.name(entry));
            }
        } else {
            files = probe_ignore_files(directory.get());
        }
        return IgnoreLevel::enter(task.level, directory.get(), task.path, files, rules_);
    }

    void take_entries(unsigned thread, const DirectoryLister& lister, const Task& task,
                      const Handle& handle, const IgnoreLevel::Pointer& level,
                      std::vector<Task> more)
    {
        Task below = subdirectories(task, handle, level);
        Task batch{.kind = Task::Kind::files,
                   .base = handle,
                   .name = {},
                   .path = task.path,
                   .level = {},
                   .names = {}};
        std::size_t batched = 0;
        std::string path = task.path == "/" ? "/" : task.path + "/";
        const std::size_t base = path.size();
        for (const auto& entry : lister.entries()) {
            const char* name = lister.name(entry);
            path.resize(base);
            path += name;
            if (!wanted(entry.type, name, path, level.get())) {
                continue;
            }
            if (entry.type == EntryType::directory) {
                below.names.append(name).push_back('\0');
                continue;
            }
            batch.names.push_back(entry.type == EntryType::symlink ? 'l' : 'f');
            batch.names.append(name).push_back('\0');
            if (++batched % batch_size == 0) {
                more.push_back(batch);
                batch.names.clear();
            }
        }
        if (!below.names.empty()) {
            more.push_back(std::move(below));
        }
        tasks_.push(std::move(more));
        visit_batch(thread, batch);
    }

    bool wanted(EntryType type, const char* name, const std::string& path, const IgnoreLevel* level)
    {
        if (type == EntryType::other || (type == EntryType::symlink && !options_.symlinks)) {
            return false;
        }
        const bool is_directory = type == EntryType::directory;
        if (!options_.git && std::string_view(name) == ".git") {
            if (is_directory ? visitor_.enters(path) : visitor_.wants(path)) {
                totals_.git_left_out = true;
            }
            return false;
        }
        if (is_directory && path.starts_with("/proc") &&
            (path == "/proc" || is_own_process(path))) {
            return false;
        }
        if (path.size() > max_path) {
            if (is_directory) {
                totals_.unreadable.add(path + "/");
            }
            return false;
        }
        const Selection::Choice choice = selection_.choose(level, path, is_directory, &limits_);
        totals_.ignored += choice == Selection::Choice::leave_ignored ? 1 : 0;
        return choice == Selection::Choice::take && (!is_directory || visitor_.enters(path));
    }

    static Task subdirectories(const Task& task, const Handle& handle,
                               const IgnoreLevel::Pointer& level)
    {
        const bool held = task.depth < max_held_depth;
        return {.kind = Task::Kind::subdirectories,
                .base = held ? handle : task.base,
                .name = held ? std::string() : task.name,
                .path = task.path,
                .level = level,
                .depth = task.depth + 1,
                .names = {}};
    }

    void visit_batch(unsigned thread, const Task& batch)
    {
        std::string path = batch.path == "/" ? "/" : batch.path + "/";
        const std::size_t base = path.size();
        for (std::size_t at = 0; at < batch.names.size();) {
            const char* name = batch.names.data() + at + 1;
            path.resize(base);
            path += name;
            visitor_.visit(thread, {.dirfd = batch.base->get(),
                                    .name = name,
                                    .path = path,
                                    .is_symlink = batch.names[at] == 'l'});
            at += path.size() - base + 2;
        }
    }

    const Selection& selection_;
    const WalkOptions& options_;
    SearchLimits& limits_;
    WalkVisitor& visitor_;
    WalkTotals& totals_;
    RuleBudget& rules_;
    TaskStack<Task> tasks_;
    std::mutex mutex_;
    std::exception_ptr failure_; ///< guarded by mutex_
};

} // namespace

unsigned search_threads() noexcept
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (::sched_getaffinity(0, sizeof(set), &set) != 0) {
        return 1;
    }
    return static_cast<unsigned>(std::clamp(CPU_COUNT(&set), 1, 4));
}

void walk(UniqueFd root, const std::string& path, const Selection& selection,
          const WalkOptions& options, SearchLimits& limits, WalkVisitor& visitor,
          WalkTotals& totals)
{
    RuleBudget rules; // outlives the levels that the tasks hold
    Task task{.base = std::make_shared<UniqueFd>(std::move(root)),
              .name = {},
              .path = path,
              .level = options.use_ignore_files ? IgnoreLevel::above(path, rules) : nullptr,
              .names = {}};
    Walk(selection, options, limits, visitor, totals, rules).run(std::move(task));
    totals.capped_ignore_files = rules.capped_files();
}

} // namespace berth::guest::search
