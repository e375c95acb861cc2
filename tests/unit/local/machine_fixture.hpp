#pragma once

#include "sandbox/backend.hpp"

#include <memory>
#include <string>

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

[[nodiscard]] bool is_root();
[[nodiscard]] std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);
[[nodiscard]] bool exists(const std::string& path);

/// Where the launcher and the test guest are; empty when not told by the environment.
[[nodiscard]] std::string program(const char* variable);

} // namespace berth::local::test
