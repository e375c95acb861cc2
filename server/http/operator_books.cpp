#include "server/http/operator_books.hpp"

#include <utility>

namespace berth::server::http {

Books& OperatorBooks::of(const std::string& backend)
{
    const auto name = backend.empty() ? making_.options->backend : backend;
    const std::lock_guard lock(mutex_);
    auto& known = books_[name];
    if (!known) {
        try {
            auto options =
                name == making_.options->backend ? *making_.options : maker_.options_on(name);
            options.sessions.collects = false; // the server does it for all
            making_.tell_of_sessions(options.sessions, options.workspace);
            auto of_it = maker_.backend_of(options);
            known = std::make_unique<Books>(std::move(options), std::move(of_it));
        } catch (...) {
            books_.erase(name); // names that are made up take no room
            throw;
        }
    }
    return *known;
}

} // namespace berth::server::http
