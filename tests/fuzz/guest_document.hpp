#pragma once

#include "sandbox/guest/call_context.hpp"
#include "sandbox/guest/files/document.hpp"
#include "tests/fuzz/memory_file.hpp"

#include <string>
#include <string_view>

namespace berth::fuzz {

/// What an operation on files has beside its request.
struct GuestContext {
    protocol::GuestConfig config;
    guest::SessionState session{"/"};
    guest::CallContext call{config, session, {}, {}, {}};
};

/// A document of the guest with this text.
class GuestDocument {
  public:
    explicit GuestDocument(std::string_view text)
        : file_(text), document_(file_.fd(), text.size(), "/a.txt", context_.call)
    {
    }

    [[nodiscard]] guest::Document& operator*() noexcept { return document_; }

    [[nodiscard]] guest::Document* operator->() noexcept { return &document_; }

    [[nodiscard]] std::string text() const
    {
        guest::DocumentReader reader(document_);
        std::string all;
        for (auto piece = reader.next(); !piece.empty(); piece = reader.next()) {
            all += piece;
        }
        return all;
    }

  private:
    GuestContext context_;
    MemoryFile file_;
    guest::Document document_;
};

} // namespace berth::fuzz
