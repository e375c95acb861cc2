#include "sandbox/guest/search/walker.hpp"

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

/// A directory to list or, when `files` is not empty, files of a directory to visit.
struct Task {
    Handle base;      ///< `name` is relative to it
    std::string name; ///< empty: `base` itself
    std::string path; ///< absolute
    IgnoreLevel::Pointer level;
    std::size_t depth = 0;
    std::string files; ///< type and name, NUL-terminated, one after the other
};

class Walk {
  public:
    Walk(const Selection& selection, const WalkOptions& options, SearchLimits& limits,
         WalkVisitor& visitor, WalkTotals& totals)
        : selection_(selection), options_(options), limits_(limits), visitor_(visitor),
          totals_(totals)
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
                } else if (task.files.empty()) {
                    list(thread, lister, task);
                } else {
                    visit_batch(thread, task);
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
        if (!handle->valid() || !lister.read_some(handle->get())) {
            ++totals_.unreadable;
            return;
        }
        const IgnoreLevel::Pointer level = enter(*handle, lister, task);
        while (!lister.entries().empty() && !limits_.must_stop()) {
            take_entries(thread, lister, task, handle, level);
            if (lister.complete() || !lister.read_some(handle->get())) {
                break;
            }
        }
    }

    IgnoreLevel::Pointer enter(const UniqueFd& directory, const DirectoryLister& lister,
                               const Task& task) const
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
        return IgnoreLevel::enter(task.level, directory.get(), task.path, files);
    }

    void take_entries(unsigned thread, const DirectoryLister& lister, const Task& task,
                      const Handle& handle, const IgnoreLevel::Pointer& level)
    {
        std::vector<Task> more;
        Task batch{.base = handle, .name = {}, .path = task.path, .level = {}, .files = {}};
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
                more.push_back(child(task, handle, level, name, path));
                continue;
            }
            batch.files.push_back(entry.type == EntryType::symlink ? 'l' : 'f');
            batch.files.append(name).push_back('\0');
            if (++batched % batch_size == 0) {
                more.push_back(batch);
                batch.files.clear();
            }
        }
        tasks_.push(std::move(more));
        visit_batch(thread, batch);
    }

    bool wanted(EntryType type, const char* name, const std::string& path, const IgnoreLevel* level)
    {
        if (type == EntryType::other || (type == EntryType::symlink && !options_.symlinks) ||
            std::string_view(name) == ".git") {
            return false;
        }
        const bool is_directory = type == EntryType::directory;
        if (is_directory && path.starts_with("/proc") &&
            (path == "/proc" || is_own_process(path))) {
            return false;
        }
        if (path.size() > max_path) {
            totals_.unreadable += is_directory ? 1 : 0;
            return false;
        }
        const Selection::Choice choice = selection_.choose(level, path, is_directory);
        totals_.ignored += choice == Selection::Choice::leave_ignored ? 1 : 0;
        return choice == Selection::Choice::take && (!is_directory || visitor_.enters(path));
    }

    static Task child(const Task& task, const Handle& handle, const IgnoreLevel::Pointer& level,
                      const char* name, const std::string& path)
    {
        const bool held = task.depth < max_held_depth;
        return {.base = held ? handle : task.base,
                .name = held ? name : task.name + "/" + name,
                .path = path,
                .level = level,
                .depth = task.depth + 1,
                .files = {}};
    }

    void visit_batch(unsigned thread, const Task& batch)
    {
        std::string path = batch.path == "/" ? "/" : batch.path + "/";
        const std::size_t base = path.size();
        for (std::size_t at = 0; at < batch.files.size();) {
            const char* name = batch.files.data() + at + 1;
            path.resize(base);
            path += name;
            visitor_.visit(thread, {.dirfd = batch.base->get(),
                                    .name = name,
                                    .path = path,
                                    .is_symlink = batch.files[at] == 'l'});
            at += path.size() - base + 2;
        }
    }

    const Selection& selection_;
    const WalkOptions& options_;
    SearchLimits& limits_;
    WalkVisitor& visitor_;
    WalkTotals& totals_;
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
    Task task{.base = std::make_shared<UniqueFd>(std::move(root)),
              .name = {},
              .path = path,
              .level = options.use_ignore_files ? IgnoreLevel::above(path) : nullptr,
              .files = {}};
    Walk(selection, options, limits, visitor, totals).run(std::move(task));
}

} // namespace berth::guest::search
