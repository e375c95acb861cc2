#include "server/transport/http_library.hpp"

#include "server/transport/http_chunks.hpp"

#include <httplib.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace berth::transport {
namespace {

/// The head of ours, then what the socket has. The names of later releases are here beside those of
/// 0.11, so nothing says `override`.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsuggest-override"
#if defined(__clang__)
#pragma GCC diagnostic ignored "-Winconsistent-missing-override"
#pragma GCC diagnostic ignored "-Wsuggest-destructor-override"
#endif

class HeadAndSocket : public httplib::Stream {
  public:
    HeadAndSocket(std::string head, HttpSocket& socket, bool chunked)
        : head_(std::move(head)), socket_(socket)
    {
        if (chunked) {
            chunks_.emplace();
        }
    }

    // NOLINTBEGIN(modernize-use-override, modernize-use-nodiscard): see above
    bool is_readable() const { return true; }

    bool wait_readable() const { return true; }

    bool is_writable() const { return !socket_.is_gone(); }

    bool wait_writable() const { return !socket_.is_gone(); }

    bool is_peer_alive() const { return !socket_.is_gone(); }

    ssize_t read(char* data, std::size_t size)
    {
        if (taken_ < head_.size()) {
            const auto count = std::min(size, head_.size() - taken_);
            std::copy_n(head_.data() + taken_, count, data);
            taken_ += count;
            return static_cast<ssize_t>(count);
        }
        const auto count = socket_.read(data, size);
        if (!chunks_ || count <= 0) {
            return count;
        }
        const auto good = chunks_->take({data, static_cast<std::size_t>(count)});
        return good > 0 ? static_cast<ssize_t>(good) : -1;
    }

    ssize_t write(const char* data, std::size_t size)
    {
        constexpr std::size_t most_kept = 1024; // of what may be megabytes
        const std::string_view text(data, size);
        const auto now = keeps_end_ ? size - std::min(size, most_kept) : size;
        if (now > 0 && !(send_kept() && socket_.write(text.substr(0, now)))) {
            return -1;
        }
        kept_ += text.substr(now);
        return static_cast<ssize_t>(size);
    }

    void get_remote_ip_and_port(std::string& ip, int& port) const
    {
        ip.clear();
        port = 0;
    }

    void get_local_ip_and_port(std::string& ip, int& port) const
    {
        ip.clear();
        port = 0;
    }

    socket_t socket() const { return socket_.descriptor(); }

    time_t duration() const { return 0; }

    // NOLINTEND(modernize-use-override, modernize-use-nodiscard)

    /// From here on the end of what is written waits for what comes behind it.
    void keep_end() noexcept { keeps_end_ = true; }

    /// All of it at once.
    bool send_kept() { return socket_.write(std::exchange(kept_, {})); }

  private:
    std::string head_;
    std::size_t taken_ = 0;
    bool keeps_end_ = false;
    std::string kept_;
    HttpSocket& socket_;
    std::optional<HttpChunks> chunks_; ///< of a body that comes so
};

#pragma GCC diagnostic pop

/// Of the request that this thread is at: handlers are told nothing else.
struct Current {
    const HttpHead& head;
    const HttpLibrary::TakeBody& take;
    const HttpLibrary::MakeAnswer& make;
    HeadAndSocket* stream = nullptr;
    std::function<void(bool)> then{};
    bool close = false;
};

thread_local Current* current = nullptr;

/// What the library needs to know to read the body and to write the answer.
std::string own_head(const HttpHead& head, bool reads_body)
{
    std::string text = reads_body              ? "POST / HTTP/1.1\r\n"
                       : head.method == "HEAD" ? "HEAD / HTTP/1.1\r\n"
                                               : "GET / HTTP/1.1\r\n";
    text += "Host: berth\r\n";
    if (reads_body && head.expects_continue) {
        text += "Expect: 100-continue\r\n";
    }
    if (reads_body && head.chunked) {
        text += "Transfer-Encoding: chunked\r\n";
    } else if (reads_body) {
        text += "Content-Length: " + std::to_string(head.content_length.value_or(0)) + "\r\n";
    }
    return text + (head.keep_alive ? "\r\n" : "Connection: close\r\n\r\n");
}

void write_stream(httplib::Response& response, const HttpAnswer& answer, const HttpHead& head)
{
    auto provide = [stream = answer.stream](std::size_t, httplib::DataSink& sink) {
        bool written = true;
        const HttpAnswer::Write write = [&](std::string_view text) {
            written = written && sink.write(text.data(), text.size());
            return written;
        };
        const auto last = stream(write);
        current->stream->keep_end();
        if (!last.empty()) {
            write(last);
        }
        if (written) {
            sink.done();
        }
        return written && current->stream->send_kept();
    };
    if (head.is_1_0) { // there are no chunks yet: it ends with the connection
        response.set_content_provider(answer.type, std::move(provide));
    } else {
        response.set_chunked_content_provider(answer.type, std::move(provide));
    }
}

void write_answer(httplib::Response& response, HttpAnswer answer, const HttpHead& head)
{
    response.status = answer.status;
    for (const auto& [name, value] : answer.fields) {
        response.set_header(name, value);
    }
    if (answer.close) {
        response.set_header("Connection", "close");
    }
    if (answer.stream && head.method != "HEAD") { // of which only the head is read
        write_stream(response, answer, head);
    } else if (!answer.stream && !answer.type.empty()) {
        // Of HEAD too, whose length is told: the library leaves it out itself. Not by
        // set_content(), which copies what may be megabytes.
        response.body = std::move(answer.body);
        response.set_header("Content-Type", answer.type);
    }
}

} // namespace

class HttpLibrary::Server : public httplib::Server {
  public:
    Server()
    {
        Post("/", [](const httplib::Request&, httplib::Response& response,
                     const httplib::ContentReader& read) {
            const bool whole = read(
                [](const char* data, std::size_t size) { return current->take({data, size}); });
            answer(response, whole);
        });
        Get("/",
            [](const httplib::Request&, httplib::Response& response) { answer(response, true); });
        // Else the text of an exception goes to the peer.
        set_exception_handler([](const auto&, httplib::Response& response, const auto&) {
            response.status = 500;
            response.set_header("Connection", "close");
            current->close = true;
        });
        // Streams end where no server listens; which descriptor it is nobody looks at.
        svr_sock_ = 0;
        set_keep_alive_max_count(1'000'000);
        set_keep_alive_timeout(75); // as HttpSettings::idle_time: what clients are told
    }

    bool serve(HttpSocket& socket, const HttpHead& head, bool reads_body)
    {
        HeadAndSocket stream(own_head(head, reads_body), socket, reads_body && head.chunked);
        current->stream = &stream;
        bool closed = false;
        return run(*this, stream, !head.keep_alive, closed);
    }

  private:
    static void answer(httplib::Response& response, bool whole)
    {
        auto made = current->make(whole);
        current->then = std::move(made.then);
        // To HTTP/1.0 a stream ends with its connection.
        current->close = made.close || !whole || (made.stream && current->head.is_1_0);
        made.close = current->close;
        write_answer(response, std::move(made), current->head);
    }

    /// As this release wants it, or a later one.
    template <class Self>
    static bool run(Self& self, httplib::Stream& stream, bool close, bool& closed)
    {
        const auto nothing = [](httplib::Request&) {};
        if constexpr (requires { self.process_request(stream, close, closed, nothing); }) {
            return self.process_request(stream, close, closed, nothing);
        } else {
            const std::string nowhere;
            return self.process_request(stream, nowhere, 0, nowhere, 0, close, closed, nothing);
        }
    }
};

HttpLibrary::HttpLibrary() : server_(std::make_unique<Server>()) {}

HttpLibrary::~HttpLibrary() = default;

bool HttpLibrary::process(HttpSocket& socket, const HttpHead& head, bool reads_body,
                          const TakeBody& take, const MakeAnswer& make)
{
    Current mine{.head = head, .take = take, .make = make};
    current = &mine;
    bool written = false;
    try {
        written = server_->serve(socket, head, reads_body);
    } catch (const std::exception&) { // of a stream: in the middle of it nothing can be told
        socket.break_off();
    }
    current = nullptr;
    if (mine.then) {
        mine.then(written);
    }
    return written && !mine.close && head.keep_alive;
}

} // namespace berth::transport
