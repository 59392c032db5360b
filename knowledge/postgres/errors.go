package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"tracerag/knowledge"
)

// Errors name a server as "USER@HOST:PORT/DATABASE", and never a password.

// URLError says that a URL names no database.
type URLError struct{ What string }

func (e *URLError) Error() string {
	return "the URL of the knowledge base can't be read: " + e.What + "\nit must be like postgres://USER@HOST/DATABASE?project=NAME"
}

// UnreachableError says that a server does not answer, or ended a connection.
type UnreachableError struct {
	Server string
	Err    error
}

func (e *UnreachableError) Error() string {
	next := "start it, and run"
	if e.Err != nil && strings.Contains(e.Err.Error(), "server refused TLS connection") { // pgconn has no type for it
		next = "have it speak TLS (ssl = on), or name another sslmode, and run"
	} else if isCode(e.Err, tooManyClients) { // it runs
		next = "wait until others end, or raise its limit of connections (max_connections, CONNECTION LIMIT), and run"
	}
	return fmt.Sprintf("PostgreSQL at %s can't be reached: %v\nwhat was written before is kept: %s the same command again", e.Server, e.Err, next)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// DeniedError says that a server does not let a user in.
type DeniedError struct {
	Server string
	Err    error
}

func (e *DeniedError) Error() string {
	text := fmt.Sprintf("PostgreSQL at %s refuses: %v", e.Server, e.Err)
	if pg, ok := errors.AsType[*pgconn.PgError](e.Err); ok && strings.HasPrefix(pg.Code, unknownUserClass) {
		text += "\nthe password comes from PGPASSWORD or ~/.pgpass"
	} else if ok && pg.Code == protocol {
		text += "\nPgBouncer refuses parameters of a connection: connect to PostgreSQL itself"
	}
	return text
}

func (e *DeniedError) Unwrap() error { return e.Err }

// MissingError says that nothing was indexed in a project yet. It is a [knowledge.ErrNotIndexed].
type MissingError struct{ Server, Project string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("nothing was indexed yet: project %s of %s does not exist", e.Project, e.Server)
}

// Is is of [errors.Is].
func (e *MissingError) Is(target error) bool { return target == knowledge.ErrNotIndexed }

// NotAdmittedError says that a project does not exist, or that a role may not enter it. Which, that role is
// not to know.
type NotAdmittedError struct{ Server, Project, Role string }

func (e *NotAdmittedError) Error() string {
	return fmt.Sprintf("project %s of %s does not exist, or %s may not enter it\nthe owner of the tables admits a role with: SELECT tracerag.admit('%s', '%s')",
		e.Project, e.Server, e.Role, strings.ReplaceAll(e.Project, "'", "''"), strings.ReplaceAll(e.Role, "'", "''"))
}

// UnboundError says that PostgreSQL would not hold a role to one project.
type UnboundError struct{ Server, Role string }

func (e *UnboundError) Error() string {
	return fmt.Sprintf("%s: row-level security does not bind %s, a superuser or a role with BYPASSRLS, so its projects would not be apart\nconnect as another role: CREATE ROLE tracerag LOGIN; CREATE DATABASE tracerag OWNER tracerag", e.Server, e.Role)
}

// NewerError says that a later version of tracerag made the tables.
type NewerError struct {
	Server         string
	Version, Known int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("the tables of %s were made by a newer tracerag: their version is %d, this one reads up to %d\nupdate tracerag", e.Server, e.Version, e.Known)
}

// OlderError says that tables have to be brought to today's version, and that this connection can't do
// it: it only reads, or its role does not own them.
type OlderError struct {
	Server         string
	Version, Known int
}

func (e *OlderError) Error() string {
	return fmt.Sprintf("the tables of %s were made by an older tracerag: their version is %d, this one reads %d\nrun tracerag index once as the role that owns them", e.Server, e.Version, e.Known)
}

// UnwritableError says why nothing can be written.
type UnwritableError struct {
	Server string
	Err    error
}

func (e *UnwritableError) Error() string {
	return fmt.Sprintf("%s can't be written: %v", e.Server, e.Err)
}

func (e *UnwritableError) Unwrap() error { return e.Err }

// Is makes it [knowledge.ErrUnwritable].
func (e *UnwritableError) Is(target error) bool { return target == knowledge.ErrUnwritable }

// FullError says that the server's disk is full.
type FullError struct{ Server string }

func (e *FullError) Error() string {
	return fmt.Sprintf("%s can't be written: its disk is full\nwhat was written before is kept: free some space and run the same command again", e.Server)
}

// GoneError says that a repository was forgotten while it was written.
type GoneError struct{ Server string }

func (e *GoneError) Error() string {
	return fmt.Sprintf("%s: another process has removed the repository: index it again", e.Server)
}

// TextError says that the text of a file is not in a database: it was copied into it without.
type TextError struct{ Server, Path string }

func (e *TextError) Error() string {
	return fmt.Sprintf("%s does not have the text of %s: index it again on a machine that has the file", e.Server, e.Path)
}

// Codes of PostgreSQL's errors.
const (
	connectionClass  = "08"
	protocol         = "08P01"
	unknownUserClass = "28" // or a wrong password
	unknownDatabase  = "3D000"
	denied           = "42501"
	noFunction       = "42883"
	syntax           = "42601"
	duplicateObject  = "42710"
	readOnly         = "25006"
	deadlock         = "40P01"
	serialization    = "40001"
	diskFull         = "53100"
	tooManyClients   = "53300"
	shutdown         = "57P01"
	crash            = "57P02"
	starting         = "57P03"
)

// isCode reports whether an error is PostgreSQL's with one of the codes.
func isCode(err error, codes ...string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains(codes, e.Code)
}

// explain gives the errors that a user can do something about a type.
func (s *Store) explain(ctx context.Context, err error) error { return explain(ctx, s.server, err) }

func explain(ctx context.Context, server string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || pgconn.Timeout(err) || pgconn.SafeToRetry(err) || errors.Is(err, net.ErrClosed)) {
		return ctx.Err()
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case isCode(e, diskFull):
			return &FullError{server}
		case isCode(e, protocol):
			return &DeniedError{server, e}
		case isCode(e, shutdown, crash, starting, tooManyClients), strings.HasPrefix(e.Code, connectionClass):
			return &UnreachableError{server, e}
		case isCode(e, readOnly):
			return &UnwritableError{server, e}
		case isCode(e, unknownDatabase, denied), strings.HasPrefix(e.Code, unknownUserClass):
			return &DeniedError{server, e}
		}
		if _, ok := errors.AsType[*pgconn.ConnectError](err); ok { // its text repeats the server, and is of many lines
			return &DeniedError{server, e}
		}
		return fmt.Errorf("%s: %w", server, err)
	}
	if e, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return &UnreachableError{server, cause(e)}
	}
	if _, ok := errors.AsType[net.Error](err); ok || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, puddle.ErrClosedPool) || strings.Contains(err.Error(), "conn closed") {
		return &UnreachableError{server, cause(err)}
	}
	return err
}

// cause is the innermost error: those around it repeat the server.
func cause(err error) error {
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
