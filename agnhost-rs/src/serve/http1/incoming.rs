//! The body of a request: read, counted, and forgotten.

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::super::head::AnnouncedBody;
use super::{After, Http1};

/// The largest request body that is read. A connection with a larger body ends after the answer.
const LARGEST_BODY: u64 = 8 << 20;

/// The maximum size of the trailers after the last chunk of a body.
const LARGEST_TRAILERS: usize = 8 * 1024;

impl<S: AsyncRead + AsyncWrite + Unpin> Http1<S> {
    /// Reads and discards a request's body. `None` if it is unclear where the body ends.
    pub(super) async fn swallow(
        &mut self,
        announced: AnnouncedBody,
        expects_leave: bool,
    ) -> Result<Option<u64>, After> {
        if expects_leave {
            let leave = self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await;
            leave.map_err(|_| After::Gone)?;
        }
        match announced {
            AnnouncedBody::Length(length) if length <= LARGEST_BODY => {
                self.skip(length).await?;
                Ok(Some(length))
            }
            AnnouncedBody::Chunks => self.swallow_chunks().await,
            AnnouncedBody::Length(_) | AnnouncedBody::Unclear => Ok(None),
        }
    }

    /// Reads and discards this many bytes.
    async fn skip(&mut self, mut left: u64) -> Result<(), After> {
        loop {
            let here = left.min(self.ahead.len() as u64);
            self.ahead.drain(..here as usize);
            left -= here;
            if left == 0 {
                return Ok(());
            }
            self.more().await?;
        }
    }

    async fn swallow_chunks(&mut self) -> Result<Option<u64>, After> {
        let mut total = 0_u64;
        loop {
            match httparse::parse_chunk_size(&self.ahead) {
                Ok(httparse::Status::Complete((line, size))) => {
                    total = total.saturating_add(size);
                    if total > LARGEST_BODY {
                        return Ok(None);
                    }
                    if size == 0 {
                        self.ahead.drain(..line);
                        return Ok(self.swallow_trailers().await?.then_some(total));
                    }
                    // The chunk and the line break after it.
                    self.skip(line as u64 + size + 2).await?;
                }
                Ok(httparse::Status::Partial) if self.ahead.len() < 1024 => self.more().await?,
                _ => return Ok(None),
            }
        }
    }

    /// Reads the lines after the last chunk, up to the empty line. Returns false if they are not valid lines.
    async fn swallow_trailers(&mut self) -> Result<bool, After> {
        loop {
            let mut lines = [httparse::EMPTY_HEADER; 32];
            match httparse::parse_headers(&self.ahead, &mut lines) {
                Ok(httparse::Status::Complete((end, _))) => {
                    self.ahead.drain(..end);
                    return Ok(true);
                }
                Ok(httparse::Status::Partial) if self.ahead.len() < LARGEST_TRAILERS => self.more().await?,
                _ => return Ok(false),
            }
        }
    }
}
