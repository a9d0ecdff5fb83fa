// Asks golang.org/x/mod/sumdb, as Debian packages it, whether our notes, trees and tiles are what it takes them to be.
//
// Reads checks as a JSON array on stdin, answers each with a line: "ok", or why not.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type check struct {
	Kind    string
	VKey    string
	Note    []byte
	Leaf    []byte
	Index   int64
	Size    int64
	Root    []byte
	Old     int64
	OldRoot []byte
	Path    [][]byte
	Folder  string
}

func hash(data []byte) (h tlog.Hash, err error) {
	if len(data) != tlog.HashSize {
		return h, errors.New("a hash is not 32 bytes")
	}
	copy(h[:], data)
	return h, nil
}

func hashes(list [][]byte) ([]tlog.Hash, error) {
	result := make([]tlog.Hash, len(list))
	for i, data := range list {
		h, err := hash(data)
		if err != nil {
			return nil, err
		}
		result[i] = h
	}
	return result, nil
}

// folder reads tiles of a C2SP tile log; x/mod's paths name the height, C2SP's do not.
type folder string

func (folder) Height() int { return 8 }

func (f folder) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	result := make([][]byte, len(tiles))
	for i, tile := range tiles {
		path := "tile/" + strings.TrimPrefix(tile.Path(), "tile/8/")
		data, err := os.ReadFile(filepath.Join(string(f), path))
		if err != nil {
			return nil, err
		}
		result[i] = data
	}
	return result, nil
}

func (folder) SaveTiles([]tlog.Tile, [][]byte) {}

func run(c check) error {
	switch c.Kind {
	case "note":
		verifier, err := note.NewVerifier(c.VKey)
		if err != nil {
			return err
		}
		_, err = note.Open(c.Note, note.VerifierList(verifier))
		return err
	case "record":
		root, err := hash(c.Root)
		if err != nil {
			return err
		}
		path, err := hashes(c.Path)
		if err != nil {
			return err
		}
		return tlog.CheckRecord(path, c.Size, root, c.Index, tlog.RecordHash(c.Leaf))
	case "tree":
		root, err := hash(c.Root)
		if err != nil {
			return err
		}
		old, err := hash(c.OldRoot)
		if err != nil {
			return err
		}
		path, err := hashes(c.Path)
		if err != nil {
			return err
		}
		return tlog.CheckTree(path, c.Size, root, c.Old, old)
	case "tiles":
		root, err := hash(c.Root)
		if err != nil {
			return err
		}
		reader := tlog.TileHashReader(tlog.Tree{N: c.Size, Hash: root}, folder(c.Folder))
		path, err := tlog.ProveRecord(c.Size, c.Index, reader)
		if err != nil {
			return err
		}
		return tlog.CheckRecord(path, c.Size, root, c.Index, tlog.RecordHash(c.Leaf))
	}
	return fmt.Errorf("unknown check %q", c.Kind)
}

func main() {
	var checks []check
	if err := json.NewDecoder(os.Stdin).Decode(&checks); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	for _, c := range checks {
		if err := run(c); err != nil {
			fmt.Println(strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Println("ok")
		}
	}
}
