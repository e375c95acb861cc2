#pragma once

#include "sandbox/session/registry.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace berth::tests {

/// The books of another registry, of which some cannot be written.
class FailingRegistry : public session::Registry {
  public:
    explicit FailingRegistry(std::unique_ptr<session::Registry> books) : books_(std::move(books)) {}

    bool shared = false;
    std::function<void()> before_put; ///< throws what a put() comes to

    [[nodiscard]] bool is_shared() const noexcept override { return shared; }

    [[nodiscard]] std::unique_ptr<Hold> lock(const std::string& key,
                                             const Deadline& deadline) override
    {
        return books_->lock(key, deadline);
    }

    [[nodiscard]] std::unique_ptr<Hold> claim(const std::string& key) override
    {
        return books_->claim(key);
    }

    [[nodiscard]] std::optional<session::Record> find(const std::string& key) override
    {
        return books_->find(key);
    }

    void put(const std::string& key, const session::Record& record) override
    {
        if (before_put) {
            before_put();
        }
        books_->put(key, record);
    }

    [[nodiscard]] bool was_erased(const std::string& key) override
    {
        return books_->was_erased(key);
    }

    void erase(const std::string& key) override { books_->erase(key); }

    void touch(const std::string& key) noexcept override { books_->touch(key); }

    [[nodiscard]] std::vector<std::string> keys() override { return books_->keys(); }

    [[nodiscard]] std::vector<std::string> abandoned() override { return books_->abandoned(); }

  private:
    std::unique_ptr<session::Registry> books_;
};

} // namespace berth::tests
