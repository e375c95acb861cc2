#pragma once

#include "sandbox/backend.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace berth::local::test {

/// A temporary directory with a state folder, and a backend on it whose guest is the test guest.
/// What a test made is destroyed with it.
class Bench {
  public:
    Bench();
    ~Bench();
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    [[nodiscard]] sandbox::Backend& backend() noexcept { return *backend_; }

    void use_backend(std::unique_ptr<sandbox::Backend> other) { backend_ = std::move(other); }

    void drop_backend() noexcept { backend_.reset(); }

    [[nodiscard]] const std::string& directory() const noexcept { return directory_; }

    [[nodiscard]] std::string state() const { return directory_ + "/state"; }

    /// A session of its own for each `name`.
    [[nodiscard]] static sandbox::MachineSpec spec(const std::string& name = "one");

    sandbox::Machine& make(const sandbox::MachineSpec& spec = Bench::spec());

    /// The output of a bash script inside the last machine.
    std::string run(const std::string& script);

    void destroy(bool purge = false);

  private:
    std::string directory_;
    std::unique_ptr<sandbox::Backend> backend_;
    std::unique_ptr<sandbox::Machine> machine_;
};

/// Another backend on its state folder, whose guest is the real one, in the launcher where the
/// kernel allows that.
[[nodiscard]] std::unique_ptr<sandbox::Backend> backend_with_guest(const Bench& bench);

[[nodiscard]] bool in_force(const sandbox::Machine& machine, const std::string& layer);

/// What `work` returns in a forked process, which may change itself; what it threw, if it threw.
[[nodiscard]] std::string told_by_child(const std::function<std::string()>& work);

/// For good, all of the process: a user without an entry in the user database.
bool become_ordinary_user();

[[nodiscard]] bool is_root();
[[nodiscard]] std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);
[[nodiscard]] bool exists(const std::string& path);

/// Where the launcher and the test guest are; empty when not told by the environment.
[[nodiscard]] std::string program(const char* variable);

} // namespace berth::local::test
