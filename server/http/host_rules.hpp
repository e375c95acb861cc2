#pragma once

#include "server/options/options.hpp"
#include "server/transport/http_head.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace berth::server::http {

/// Keeps web pages out. A page that a user of this host looks at may send requests to its loopback,
/// also under a name of its own that it has resolve to 127.0.0.1 (DNS rebinding,
/// GHSA-w48q-cv73-mx4w): the browser then says so in Host and Origin.
class HostRules {
  public:
    /// `own`: the address that is listened on.
    HostRules(const HttpOptions& options, const std::string& own);

    /// Why the request is refused; empty: it is not.
    [[nodiscard]] std::string refusal(const transport::HttpHead& head) const;

    /// The Origin of a request that is not refused, as a browser writes it; empty: it has none.
    /// Made of what is known here, so that it can be said again.
    [[nodiscard]] std::string origin_of(const transport::HttpHead& head) const;

    /// The same, of one whose pages may send what a browser asks about first, and read the answers.
    /// Where nobody has to show a token these are http_origins alone: any page that any server on
    /// this host shows (a notebook, a project that is tried) could else work in all sandboxes.
    [[nodiscard]] std::string page_origin(const transport::HttpHead& head) const;

  private:
    [[nodiscard]] bool knows(std::string_view host) const;

    bool any_host_; ///< a proxy has looked at it, or there is none on a unix socket
    bool no_auth_;  ///< whoever reaches it is let in
    std::vector<std::string> hosts_;
    std::vector<std::string> origins_;
};

} // namespace berth::server::http
